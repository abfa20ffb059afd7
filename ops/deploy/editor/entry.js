// What the page at / takes from CodeMirror; build.sh makes one file of it.
export { StateEffect, StateField } from "@codemirror/state";
export { Decoration, EditorView, keymap, placeholder } from "@codemirror/view";
export { history, historyKeymap, invertedEffects, isolateHistory, standardKeymap, undo, undoDepth } from "@codemirror/commands";
