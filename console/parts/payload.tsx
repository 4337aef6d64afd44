// A key, a value or a header of a record, as the broker answers it: how it was decoded, and its text or bytes. Text is
// never parsed (text/reindent-json.ts). A row has payload-preview.tsx. Larger text is in large-text.tsx, which is
// loaded when it is first needed.

import { type ReactNode, useMemo, useState } from 'react'
import type { ShownValue } from '../../src/api/messages.ts'
import { bytes as bytesText, count, exactBytes } from '../text/format.ts'
import { bytesOfBase64, hexLines } from '../text/hex.ts'
import { reindentJson } from '../text/reindent-json.ts'
import { DecodeBadge, Empty, Null, type PreviewProps } from './payload-preview.tsx'
import { Block, MOST_SIMPLE, TextBlock, TextEditor } from './text-block.tsx'

export const VIEWS = ['pretty', 'raw', 'hex'] as const
export type View = (typeof VIEWS)[number]

const VIEW_NAMES: Readonly<Record<View, string>> = { pretty: 'Pretty', raw: 'Raw', hex: 'Hex' }

/** A dump has five characters for each byte. */
const MOST_HEX_BYTES = 1024 * 1024

interface PayloadProps extends PreviewProps {
  /** The name for screen readers and buttons: `Value`, `Key`, `Header trace-id`. */
  readonly label: string
  /** The buttons of the page beside the views: copy, download. */
  readonly children?: ReactNode
}

/** One value as a whole: its badge, its size, the choice of the view, and the view. */
export function Payload({ value, label, isCompacted = false, children }: PayloadProps) {
  const [chosen, setChosen] = useState<View>('pretty')
  if (value === null || value.bytes === 0)
    return (
      <div className="flex flex-wrap items-center gap-2">
        {value === null ? <Null isCompacted={isCompacted} /> : <DecodeBadge {...value} />}
        {value !== null && <Empty />}
        {children}
      </div>
    )
  const views = viewsOf(value)
  const view = views.includes(chosen) ? chosen : views[0]!
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <DecodeBadge {...value} />
        {value.schema !== undefined && <span className="text-muted">schema {value.schema.id}</span>}
        <span className="text-muted tabular-nums" title={exactBytes(value.bytes)}>
          {bytesText(value.bytes)}
        </span>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend on the screen */}
        <span role="group" aria-label={`View of ${label}`} className="inline-flex rounded-control border border-edge">
          {views.map(each => (
            <button
              key={each}
              type="button"
              aria-pressed={each === view}
              onClick={() => setChosen(each)}
              className={`min-h-7 px-2 text-dense max-sm:min-h-11 ${each === view ? 'bg-info-soft font-medium text-accent' : 'text-muted hover:text-text'}`}
            >
              {VIEW_NAMES[each]}
            </button>
          ))}
        </span>
        {children}
      </div>
      {value.truncated && <p className="text-muted">This is only the beginning of {exactBytes(value.bytes)}.</p>}
      {view === 'hex' ? <Hex value={value} label={label} /> : <Content value={value} label={label} view={view} />}
    </div>
  )
}

/**
 * Returns the text that a view shows, which is also the text to copy. A record that was not decoded is base64 in the
 * raw view.
 */
export function textOf(value: ShownValue, view: View): string {
  if (view === 'hex') return hexLines(bytesOf(value)).join('\n')
  const text = value.text ?? value.base64 ?? ''
  return view === 'pretty' && value.text !== undefined ? (reindentJson(text) ?? text) : text
}

function viewsOf(value: ShownValue): readonly View[] {
  if (value.text === undefined) return ['raw', 'hex']
  // A schema makes text of other bytes, and these are not in the answer.
  return value.schema === undefined ? VIEWS : ['pretty', 'raw']
}

function bytesOf(value: ShownValue): Uint8Array {
  return value.text === undefined ? bytesOfBase64(value.base64 ?? '') : new TextEncoder().encode(value.text)
}

interface ViewProps {
  readonly value: ShownValue
  readonly label: string
}

function Content({ value, label, view }: ViewProps & { readonly view: View }) {
  const text = useMemo(() => textOf(value, view), [value, view])
  return <TextBlock text={text} label={label} mayBeJson={value.text !== undefined} />
}

function Hex({ value, label }: ViewProps) {
  const { text, missing } = useMemo(() => {
    const bytes = bytesOf(value)
    const shown = bytes.subarray(0, MOST_HEX_BYTES)
    return { text: hexLines(shown).join('\n'), missing: bytes.length - shown.length }
  }, [value])
  return (
    <>
      {missing > 0 && (
        <p className="text-muted">
          The first {exactBytes(MOST_HEX_BYTES)}. {count(missing)} more are in the download.
        </p>
      )}
      {text.length > 5 * MOST_SIMPLE ? (
        <TextEditor text={text} label={`${label} in hex`} />
      ) : (
        <Block label={`${label} in hex`} isTable>
          {text}
        </Block>
      )}
    </>
  )
}
