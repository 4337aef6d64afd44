// The keys of the text editor on every system. The library has such a list too (standardKeymap), but its Enter,
// Backspace and Delete know how a language indents, and would load a parser: a tenth of the editor.

import {
  cursorCharLeft,
  cursorCharRight,
  cursorDocEnd,
  cursorDocStart,
  cursorGroupLeft,
  cursorGroupRight,
  cursorLineBoundaryBackward,
  cursorLineBoundaryForward,
  cursorLineBoundaryLeft,
  cursorLineBoundaryRight,
  cursorLineDown,
  cursorLineUp,
  cursorPageDown,
  cursorPageUp,
  deleteGroupBackward,
  deleteGroupForward,
  deleteLineBoundaryBackward,
  deleteLineBoundaryForward,
  insertNewlineKeepIndent,
  selectAll,
  selectCharLeft,
  selectCharRight,
  selectDocEnd,
  selectDocStart,
  selectGroupLeft,
  selectGroupRight,
  selectLineBoundaryBackward,
  selectLineBoundaryForward,
  selectLineBoundaryLeft,
  selectLineBoundaryRight,
  selectLineDown,
  selectLineUp,
  selectPageDown,
  selectPageUp,
} from '@codemirror/commands'
import { EditorSelection, findClusterBreak } from '@codemirror/state'
import type { EditorView, KeyBinding } from '@codemirror/view'

/** Returns a command that deletes the selection, or one character, with its accents, before or after the cursor. */
function deleteChar(isForward: boolean) {
  return ({ state, dispatch }: EditorView): boolean => {
    if (state.readOnly) return false
    const change = state.changeByRange(({ empty, from, to, head }) => {
      if (!empty) return { changes: { from, to }, range: EditorSelection.cursor(from) }
      const line = state.doc.lineAt(head)
      const isAtEdge = head === (isForward ? line.to : line.from)
      const other = isAtEdge
        ? Math.min(Math.max(0, head + (isForward ? 1 : -1)), state.doc.length)
        : line.from + findClusterBreak(line.text, head - line.from, isForward)
      const [start, end] = isForward ? [head, other] : [other, head]
      return { changes: { from: start, to: end }, range: EditorSelection.cursor(start) }
    })
    if (!change.changes.empty)
      dispatch(
        state.update(change, { scrollIntoView: true, userEvent: `delete.${isForward ? 'forward' : 'backward'}` }),
      )
    return true
  }
}

const deleteBackward = deleteChar(false)
const deleteForward = deleteChar(true)

export const EDITOR_KEYS: readonly KeyBinding[] = [
  { key: 'ArrowLeft', run: cursorCharLeft, shift: selectCharLeft, preventDefault: true },
  { key: 'Mod-ArrowLeft', mac: 'Alt-ArrowLeft', run: cursorGroupLeft, shift: selectGroupLeft, preventDefault: true },
  { mac: 'Cmd-ArrowLeft', run: cursorLineBoundaryLeft, shift: selectLineBoundaryLeft, preventDefault: true },
  { key: 'ArrowRight', run: cursorCharRight, shift: selectCharRight, preventDefault: true },
  {
    key: 'Mod-ArrowRight',
    mac: 'Alt-ArrowRight',
    run: cursorGroupRight,
    shift: selectGroupRight,
    preventDefault: true,
  },
  { mac: 'Cmd-ArrowRight', run: cursorLineBoundaryRight, shift: selectLineBoundaryRight, preventDefault: true },
  { key: 'ArrowUp', run: cursorLineUp, shift: selectLineUp, preventDefault: true },
  { mac: 'Cmd-ArrowUp', run: cursorDocStart, shift: selectDocStart },
  { mac: 'Ctrl-ArrowUp', run: cursorPageUp, shift: selectPageUp },
  { key: 'ArrowDown', run: cursorLineDown, shift: selectLineDown, preventDefault: true },
  { mac: 'Cmd-ArrowDown', run: cursorDocEnd, shift: selectDocEnd },
  { mac: 'Ctrl-ArrowDown', run: cursorPageDown, shift: selectPageDown },
  { key: 'PageUp', run: cursorPageUp, shift: selectPageUp },
  { key: 'PageDown', run: cursorPageDown, shift: selectPageDown },
  { key: 'Home', run: cursorLineBoundaryBackward, shift: selectLineBoundaryBackward, preventDefault: true },
  { key: 'Mod-Home', run: cursorDocStart, shift: selectDocStart },
  { key: 'End', run: cursorLineBoundaryForward, shift: selectLineBoundaryForward, preventDefault: true },
  { key: 'Mod-End', run: cursorDocEnd, shift: selectDocEnd },
  { key: 'Enter', run: insertNewlineKeepIndent, shift: insertNewlineKeepIndent },
  { key: 'Mod-a', run: selectAll },
  { key: 'Backspace', run: deleteBackward, shift: deleteBackward, preventDefault: true },
  { key: 'Delete', run: deleteForward, preventDefault: true },
  { key: 'Mod-Backspace', mac: 'Alt-Backspace', run: deleteGroupBackward, preventDefault: true },
  { key: 'Mod-Delete', mac: 'Alt-Delete', run: deleteGroupForward, preventDefault: true },
  { mac: 'Mod-Backspace', run: deleteLineBoundaryBackward, preventDefault: true },
  { mac: 'Mod-Delete', run: deleteLineBoundaryForward, preventDefault: true },
]
