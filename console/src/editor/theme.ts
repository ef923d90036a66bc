/* The look of the editor: colours are the custom properties of app.css, so that it follows the theme. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" } /* the caret, and the line below the toolbar */,
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-dim)", border: "none" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  ".cm-activeLine": { backgroundColor: "var(--line-active)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection) !important",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--match)" },
  ".cm-searchMatch": { backgroundColor: "var(--match)", outline: "1px solid var(--accent)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--selection)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--match)",
    outline: "1px solid var(--border-strong)",
  },
  ".cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket": {
    backgroundColor: "transparent",
    outline: "1px solid var(--error)",
  },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)", borderColor: "var(--border)" },
  ".cm-textfield": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--border-strong)",
    borderRadius: "4px",
  },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--button)",
    color: "var(--text)",
    border: "1px solid var(--border-strong)",
    borderRadius: "4px",
  },
  ".cm-panel.cm-search [name=close]": { color: "var(--text)", fontSize: "18px", minWidth: "24px", minHeight: "24px" },
  ".cm-tooltip": {
    backgroundColor: "var(--panel)",
    color: "var(--text)",
    border: "1px solid var(--border-strong)",
    borderRadius: "6px",
    boxShadow: "var(--shadow)",
  },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "16em" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-fill)",
    color: "var(--accent-text)",
  },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionDetail": { color: "var(--text-dim)", fontStyle: "normal", marginLeft: "1em" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionInfo": { maxWidth: "32em", padding: "6px 10px", fontFamily: "var(--sans)" },
  ".cm-info-signature": { fontFamily: "var(--mono)", fontSize: "12px", whiteSpace: "pre-wrap", marginBottom: "2px" },
  ".cm-tooltip-lint": { padding: "0" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--error)", padding: "4px 8px" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--error) 1.5px",
    textUnderlineOffset: "3px",
    textDecorationSkipInk: "none",
  },
  ".cm-lintPoint-error::after": { borderBottomColor: "var(--error)" },
  ".cm-error-beside": {
    color: "var(--error)",
    backgroundColor: "var(--error-fill)",
    marginLeft: "1.5em",
    padding: "1px 8px",
    borderRadius: "4px",
    fontFamily: "var(--sans)",
    fontSize: "12px",
    whiteSpace: "pre-wrap",
  },
  ".cm-run-gutter": { minWidth: "58px" },
  "@media (max-width: 640px)": {
    ".cm-run-gutter": { minWidth: "22px" },
    ".cm-run-time": { display: "none" },
    ".cm-foldGutter": { display: "none" },
  },
  ".cm-run-gutter .cm-gutterElement": {
    padding: "0 2px 0 6px",
    fontFamily: "var(--sans)",
    fontSize: "11px",
    whiteSpace: "nowrap",
    cursor: "pointer",
  },
  ".cm-run-mark-done": { color: "var(--ok)" },
  ".cm-run-mark-failed": { color: "var(--error)" },
  ".cm-run-mark-cancelled": { color: "var(--text-dim)" },
  ".cm-run-mark-running": { color: "var(--accent)" },
  ".cm-statement-active": { boxShadow: "inset 2px 0 0 var(--accent)" },
  ".cm-placeholder": { color: "var(--text-dim)" },
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--panel)",
    border: "1px solid var(--border)",
    color: "var(--text-dim)",
  },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.typeName], color: "var(--code-type)" },
  { tag: [tags.standard(tags.name)], color: "var(--code-function)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: tags.special(tags.name), color: "var(--code-variable)" },
]);

export const editorTheme = [look, syntaxHighlighting(colours)];
