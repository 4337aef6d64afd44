// The keys of the console, from their table.

import { Dialog } from '../parts/dialog.tsx'
import { SwitchField } from '../parts/field.tsx'
import { usePreference } from './preferences.ts'
import { SHORTCUTS } from './shortcuts.tsx'

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
