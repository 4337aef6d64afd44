// Copying, also over plain http, where browsers have no clipboard API: the text is then selected in a hidden field.

import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { pause } from '../api/client.ts'
import { Button } from './button.tsx'

/** Copies exactly this text. Returns false if the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      // The page may lack the permission; the old way may still work.
    }
  }
  const field = document.createElement('textarea')
  field.value = text
  field.setAttribute('readonly', '')
  field.style.position = 'fixed'
  field.style.opacity = '0'
  // An open dialog makes everything outside of it inert.
  const place = document.querySelector('dialog[open]:last-of-type') ?? document.body
  place.append(field)
  const focused = document.activeElement
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isCopied
}

const SHOWN_MS = 1_500

interface CopyProps {
  readonly value: string | (() => string | Promise<string>)
  /** The name of the copied thing, for the name of the button: `topic name`. */
  readonly of: string
  /** The visible text; only an icon without it. */
  readonly label?: string
}

export function CopyButton({ value, of, label }: CopyProps) {
  const [state, setState] = useState<'idle' | 'copied' | 'refused'>('idle')
  const copy = async () => {
    setState((await copyText(typeof value === 'function' ? await value() : value)) ? 'copied' : 'refused')
    await pause(SHOWN_MS)
    setState('idle')
  }
  return (
    <Button
      kind="quiet"
      isSmall
      icon={state === 'copied' ? Check : Copy}
      aria-label={label === undefined ? `Copy ${of}` : undefined}
      title={`Copy ${of}`}
      onClick={() => void copy()}
    >
      {label}
      <span role="status" className="sr-only">
        {state === 'copied' ? `Copied the ${of}.` : state === 'refused' ? 'The browser does not allow copying.' : ''}
      </span>
      {state === 'refused' && <span className="text-danger">The browser does not allow copying</span>}
    </Button>
  )
}

/** A command, or another text to paste, with its copy button. */
export function Command({ text, label }: { readonly text: string; readonly label?: string }) {
  return (
    <figure className="my-2">
      {label !== undefined && <figcaption className="mb-1 text-muted">{label}</figcaption>}
      <div className="flex items-start gap-1 rounded-control border border-line bg-raised">
        {/* A long line wraps: a command whose end cannot be seen is not read before it is run. */}
        <section className="min-w-0 grow" aria-label={label ?? 'Command'}>
          <pre className="p-2 font-mono text-dense whitespace-pre-wrap">
            {text.split(/(\s+)/).map((word, at) =>
              // A browser would break a line behind a hyphen, and then `--` and `url` look like two arguments.
              word.includes('-') ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: the words of a text never move
                <span key={at} className="inline-block max-w-full">
                  {word}
                </span>
              ) : (
                word
              ),
            )}
          </pre>
        </section>
        <CopyButton value={text} of={label === undefined ? 'command' : `command: ${label}`} />
      </div>
    </figure>
  )
}
