// The palette: go to a page, a topic, a group or a subject by typing a part of its name, or run a verb. A combobox
// after the pattern of WAI-ARIA: the focus stays in the field, the arrows choose. The field is part of the first load,
// so that it gets every key that follows Ctrl K. The list (palette-list.tsx) is loaded when the palette first opens,
// and then follows the keys that came before.

import { useId, useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { CONTROL } from '../parts/field.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Skeleton } from '../parts/states.tsx'

const PaletteList = lazyPart(async () => (await import('./palette-list.tsx')).PaletteList, <Skeleton rows={10} />)

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [pressed, setPressed] = useState<readonly string[]>([])
  const [chosen, setChosen] = useState<string>()
  const list = useId()
  return (
    <Dialog title="Go to, or do" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={chosen}
        aria-label="Part of a page, topic, group, subject or verb"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        className={CONTROL}
        onChange={({ target }) => {
          setTyped(target.value)
          setPressed([])
        }}
        onKeyDown={event => {
          const { key } = event
          if (!['Enter', 'ArrowDown', 'ArrowUp'].includes(key)) return
          event.preventDefault()
          setPressed(before => [...before, key])
        }}
      />
      <PaletteList
        id={list}
        typed={typed}
        pressed={pressed}
        onFollowed={() => setPressed(before => before.slice(1))}
        onChosen={setChosen}
        onClose={onClose}
      />
    </Dialog>
  )
}
