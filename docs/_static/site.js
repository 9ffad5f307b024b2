// Accessibility for keyboards and screen readers that the theme lacks.
document.addEventListener("DOMContentLoaded", () => {
    for (const caption of document.querySelectorAll("p.caption[role=heading]"))
        caption.setAttribute("aria-level", "2");
    // Make everything that scrolls sideways reachable by keyboard.
    for (const box of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, div.math"))
        box.tabIndex = 0;
});

// Filter the long support table: show the rows that contain all words.
document.addEventListener("DOMContentLoaded", () => {
    const totals = document.getElementById("support-totals");
    if (totals === null) return;
    const categories = [...document.querySelectorAll("section[id^=support-]")].filter(
        section => section !== totals && section.querySelector("table"));
    const label = document.createElement("label");
    label.className = "filter";
    label.textContent = "Show functions with ";
    const input = label.appendChild(document.createElement("input"));
    input.type = "search";
    input.placeholder = "linalg, host, cumulative sum ...";
    totals.after(label);
    input.addEventListener("input", () => {
        const words = input.value.toLowerCase().split(/\s+/);
        for (const category of categories) {
            let shown = 0;
            for (const row of category.querySelectorAll("tbody tr")) {
                const text = (category.id + " " + row.textContent).toLowerCase();
                row.hidden = !words.every(word => text.includes(word));
                shown += !row.hidden;
            }
            category.hidden = !shown;
        }
    });
});
