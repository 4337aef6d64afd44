// The list of the keys (shortcuts.tsx) that the user may open, and the switch that turns them off.

import { pages } from '../../src/api/pages.ts'
import { Dialog } from '../parts/dialog.tsx'
import { SwitchField } from '../parts/field.tsx'
import { usePreference } from './preferences.ts'
import { withShortcut } from './shortcuts.tsx'

interface Shortcut {
  readonly keys: string
  readonly doc: string
}

/** Every shortcut, in the order of the help. */
const SHORTCUTS: readonly Shortcut[] = [
  { keys: 'Ctrl K', doc: 'Go to a page, a topic or a group, or do something' },
  { keys: '?', doc: 'Show these keys' },
  { keys: '/', doc: 'Go to the filter of the page' },
  { keys: 'r', doc: 'Refresh now' },
  { keys: 'j k', doc: 'Go to the next or the previous row' },
  { keys: 'Enter', doc: 'Open the row' },
  { keys: 'Esc', doc: 'Close' },
  ...withShortcut.map(id => ({ keys: `g ${pages[id].shortcut}`, doc: `Go to ${pages[id].title}` })),
]

export function Help({ onClose }: { readonly onClose: () => void }) {
  const [hasShortcuts, setShortcuts] = usePreference('hasShortcuts')
  return (
    <Dialog title="Keys" onClose={onClose}>
      <table className="w-full">
        <caption className="sr-only">Keys and what they do</caption>
        <tbody>
          {SHORTCUTS.map(({ keys, doc }) => (
            <tr key={keys} className="border-b border-line last:border-0">
              <th scope="row" className="py-1 pr-4 text-left font-normal whitespace-nowrap">
                <kbd className="rounded-control border border-edge px-2 font-mono text-dense">{keys}</kbd>
              </th>
              <td className="py-1">{doc}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <SwitchField
        label="Use single keys"
        isOn={hasShortcuts}
        onChange={setShortcuts}
        hint="Ctrl K and Esc always work. Switch single keys off if a screen reader or speech input uses them."
      />
    </Dialog>
  )
}
