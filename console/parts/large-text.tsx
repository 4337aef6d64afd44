// Long text to read, or text to type: CodeMirror 6, which draws only the lines in view. It stands in an open shadow
// root, because there it adopts its style sheets: in the document it would add a style element, and the security policy
// of the broker (style-src 'self') refuses that. The colours are the tokens of base.css. The Tab key leaves it.

import { history, historyKeymap } from '@codemirror/commands'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension, RangeSetBuilder, StateField, type Text, Transaction } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  ViewPlugin,
  type ViewUpdate,
  WidgetType,
} from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { BLOCK, denseParts } from '../text/dense.ts'
import { count } from '../text/format.ts'
import { highlight, type TokenKind } from '../text/highlight.ts'
import { EACH_MARK, mark } from '../text/visible.ts'
import { EDITOR_KEYS } from './editor-keys.ts'

export interface LargeTextProps {
  readonly text: string
  /** The name for screen readers. */
  readonly label: string
  /** Hears each change. Without it the text is only for reading. */
  readonly onChange?: (text: string) => void
  /** Colours the text as JSON. */
  readonly isJson?: boolean
  /** The classes of the box, such as its height. */
  readonly className?: string
}

export function LargeText({ text, label, onChange, isJson = false, className = 'h-96' }: LargeTextProps) {
  const host = useRef<HTMLDivElement>(null)
  const shown = useRef<EditorView>(null)
  const hear = useRef(onChange)
  /** The text that stands in the editor. */
  const known = useRef(text)
  /** The texts of the parent since it last had that of the editor. It may draw an older one while the user types on. */
  const told = useRef([text])
  const isEditable = onChange !== undefined
  useEffect(() => {
    hear.current = onChange
  }, [onChange])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next effect sets a later text
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    const extensions = [
      ...COMMON,
      EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
      isJson ? jsonColors : [],
      isEditable ? history() : EditorState.readOnly.of(true),
      EditorView.updateListener.of(update => {
        if (!update.docChanged || hear.current === undefined) return
        const changed = update.state.doc.toString()
        if (changed === known.current) return
        known.current = changed
        told.current.push(changed)
        hear.current(changed)
      }),
    ]
    const view = new EditorView({ state: EditorState.create({ extensions }), parent: root, root })
    // The editor measures itself while it is empty. With a line of megabytes it would first draw all of it.
    view.coordsAtPos(0)
    known.current = text
    told.current = [text]
    view.dispatch({
      changes: { from: 0, insert: text },
      selection: { anchor: 0 },
      annotations: Transaction.addToHistory.of(false),
    })
    shown.current = view
    return () => view.destroy()
  }, [label, isJson, isEditable])
  useEffect(() => {
    const view = shown.current
    const isNew = view !== null && !told.current.includes(text)
    if (isNew || text === known.current) told.current = [text]
    if (!isNew) return
    known.current = text
    const changes = { from: 0, to: view.state.doc.length, insert: text }
    view.dispatch({ changes, selection: { anchor: 0 }, scrollIntoView: true })
  })
  return <div ref={host} data-large-text className={`min-w-0 ${className}`} />
}

const COLORS: Readonly<Record<TokenKind, string>> = {
  key: 'var(--color-syntax-key)',
  string: 'var(--color-syntax-string)',
  number: 'var(--color-syntax-number)',
  word: 'var(--color-syntax-word)',
  punctuation: 'var(--color-muted)',
}

const FOCUS = { outline: '2px solid var(--color-accent)', outlineOffset: '-2px' }

const CONTROL = {
  font: 'inherit',
  color: 'var(--color-text)',
  background: 'var(--color-surface)',
  border: '1px solid var(--color-edge)',
  borderRadius: 'var(--radius-control)',
  minHeight: '24px',
}

const LOOK = EditorView.theme({
  '&': {
    height: '100%',
    boxSizing: 'border-box',
    border: '1px solid var(--color-line)',
    borderRadius: 'var(--radius-control)',
    color: 'var(--color-text)',
    backgroundColor: 'var(--color-surface)',
    fontSize: 'var(--text-dense)',
  },
  '&.cm-focused': FOCUS,
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: 'var(--text-dense--line-height)' },
  '.cm-content': { caretColor: 'var(--color-text)' },
  '.cm-cursor': { borderLeftColor: 'var(--color-text)' },
  '.cm-gutters': { color: 'var(--color-muted)', backgroundColor: 'var(--color-raised)', border: 'none' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    background: 'var(--color-info-soft)',
  },
  '.cm-selectionMatch': { backgroundColor: 'var(--color-info-soft)' },
  '.cm-searchMatch': { backgroundColor: 'var(--color-warn-soft)', outline: '1px solid var(--color-warn)' },
  '.cm-searchMatch-selected': { backgroundColor: 'var(--color-info-soft)', outline: '2px solid var(--color-accent)' },
  '.cm-panels': { color: 'var(--color-text)', backgroundColor: 'var(--color-raised)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--color-line)' },
  '.cm-panel.cm-search': { fontFamily: 'var(--font-sans)', fontSize: 'var(--text-dense)', padding: '4px 28px 4px 4px' },
  '.cm-panel.cm-search label': { fontSize: 'inherit' },
  '.cm-panel.cm-search [name=close]': { ...CONTROL, minWidth: '24px' },
  '.cm-textfield': CONTROL,
  '.cm-button': { ...CONTROL, backgroundImage: 'none', '&:active': { backgroundImage: 'none' } },
  '.cm-panel :focus-visible': FOCUS,
  '.hidden-mark': {
    border: '1px solid var(--color-edge)',
    borderRadius: 'var(--radius-control)',
    backgroundColor: 'var(--color-raised)',
    color: 'var(--color-muted)',
    padding: '0 2px',
    margin: '0 1px',
    fontSize: 'var(--text-badge)',
  },
  ...Object.fromEntries(Object.entries(COLORS).map(([kind, color]) => [`.json-${kind}`, { color }])),
})

const MARKS = highlightSpecialChars({
  specialChars: EACH_MARK,
  render: code => {
    const { label, name } = mark(String.fromCodePoint(code))
    const box = document.createElement('span')
    box.className = 'hidden-mark'
    box.textContent = label
    box.title = name
    box.role = 'img'
    box.ariaLabel = name
    return box
  },
})

/** Stands in the place of a dense part, of which the text keeps every character. */
class Omission extends WidgetType {
  readonly length: number
  constructor(length: number) {
    super()
    this.length = length
  }
  override eq(other: Omission) {
    return other.length === this.length
  }
  toDOM() {
    const note = document.createElement('span')
    note.className = 'hidden-mark'
    note.textContent = `${count(this.length)} characters are not drawn, because too many of them are hidden or combining. A copy has them.`
    return note
  }
}

/** With every mark of a long dense line the browser would stand still. */
const OMISSIONS = StateField.define<DecorationSet>({
  create: ({ doc }) => omissionsOf(doc),
  update: (known, { docChanged, newDoc }) => (docChanged ? omissionsOf(newDoc) : known),
  provide: field => [EditorView.decorations.from(field), EditorView.atomicRanges.of(view => view.state.field(field))],
})

function omissionsOf(doc: Text): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>()
  let start = 0
  for (const line of doc.iterLines()) {
    if (line.length > BLOCK)
      for (const { from, to } of denseParts(line))
        builder.add(start + from, start + to, Decoration.replace({ widget: new Omission(to - from) }))
    start += line.length + 1
  }
  return builder.finish()
}

/**
 * Takes typed text away from the browser. Over a selection the browser would put a style attribute around it, which
 * the security policy refuses and reports, and a text for reading would flash. Compositions stay with the browser.
 */
const TYPING = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.isComposing || !event.cancelable) return false
    if (!view.state.readOnly) {
      if (event.inputType !== 'insertText' || event.data === null) return false
      view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true })
    }
    event.preventDefault()
    return true
  },
})

const COMMON: readonly Extension[] = [
  // A CR stays in the text, so that a copy has the bytes of the record.
  EditorState.lineSeparator.of('\n'),
  EditorView.lineWrapping,
  EditorView.perLineTextDirection.of(true),
  lineNumbers(),
  drawSelection(),
  MARKS,
  OMISSIONS,
  TYPING,
  highlightSelectionMatches(),
  search({ top: true }),
  keymap.of([...EDITOR_KEYS, ...historyKeymap, ...searchKeymap]),
  LOOK,
]

/** The part in view begins in the middle of a longer line, where a quote may open or close: it stays uncoloured. */
const LONGEST_LINE = 100_000

const TOKEN_MARKS = Object.fromEntries(
  Object.keys(COLORS).map(kind => [kind, Decoration.mark({ class: `json-${kind}` })]),
) as Readonly<Record<TokenKind, Decoration>>

/** Colours the lines in view. No token of JSON goes beyond its line. */
const jsonColors = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet
    constructor(view: EditorView) {
      this.decorations = colorsOf(view)
    }
    update(update: ViewUpdate) {
      if (update.docChanged || update.viewportChanged) this.decorations = colorsOf(update.view)
    }
  },
  { decorations: plugin => plugin.decorations },
)

function colorsOf({ state: { doc }, visibleRanges }: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>()
  let done = 0
  for (const { from, to } of visibleRanges) {
    const line = doc.lineAt(from)
    let at = Math.max(line.from, done)
    if (from - line.from > LONGEST_LINE) {
      if (to <= line.to) continue
      at = line.to
    }
    for (const { text, kind } of highlight(doc.sliceString(at, to))) {
      if (kind !== null && at + text.length > from) builder.add(at, at + text.length, TOKEN_MARKS[kind])
      at += text.length
    }
    done = at
  }
  return builder.finish()
}
