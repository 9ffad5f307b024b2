// What the theme leaves out for readers who use a keyboard or have pages read to them.
document.addEventListener("DOMContentLoaded", () => {
    for (const caption of document.querySelectorAll("p.caption[role=heading]"))
        caption.setAttribute("aria-level", "2");
    // Whatever scrolls sideways can be reached by the keyboard.
    for (const box of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, div.math"))
        box.tabIndex = 0;
});

// The support table is long: words show the rows that have all of them.
document.addEventListener("DOMContentLoaded", () => {
    const totals = document.getElementById("support-totals");
    if (totals === null) return;
    const chapters = [...document.querySelectorAll("section[id^=support-]")].filter(
        one => one !== totals && one.querySelector("table"));
    const label = document.createElement("label");
    label.className = "filter";
    label.textContent = "Show functions with ";
    const words = label.appendChild(document.createElement("input"));
    words.type = "search";
    words.placeholder = "linalg, host, cumulative sum ...";
    totals.after(label);
    words.addEventListener("input", () => {
        const wanted = words.value.toLowerCase().split(/\s+/);
        for (const chapter of chapters) {
            let shown = 0;
            for (const row of chapter.querySelectorAll("tbody tr")) {
                const text = (chapter.id + " " + row.textContent).toLowerCase();
                row.hidden = !wanted.every(word => text.includes(word));
                shown += !row.hidden;
            }
            chapter.hidden = !shown;
        }
    });
});
