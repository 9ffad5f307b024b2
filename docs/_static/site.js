// What the theme leaves out for readers who use a keyboard or have pages read to them.
document.addEventListener("DOMContentLoaded", () => {
    for (const caption of document.querySelectorAll("p.caption[role=heading]"))
        caption.setAttribute("aria-level", "2");
    // Whatever scrolls sideways can be reached by the keyboard.
    for (const box of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, div.math"))
        box.tabIndex = 0;
});
