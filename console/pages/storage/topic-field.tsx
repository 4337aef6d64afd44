// The name of a topic in the tabs of the page. A name that exists is taken at once, another one with Enter.

import { useEffect, useEffectEvent, useId, useRef, useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { TextField } from '../../parts/field.tsx'
import { useSettled } from '../../parts/settled.ts'
import { useHere } from '../../shell/address.tsx'

const LOOK_UP_REST_MS = 150
const MOST_NAMES = 20

/** With `isOptional`, an empty field stands for all topics. */
export function TopicField({ isOptional = false }: { readonly isOptional?: boolean }) {
  const { search, set } = useHere('storage')
  const id = useId()
  const [typed, setTyped] = useState(search.topic)
  const [shown, setShown] = useState(search.topic)
  const chosen = useRef(search.topic)
  if (shown !== search.topic) {
    setShown(search.topic)
    // Back and links change the address too. A letter that follows a choice must stay.
    if (search.topic !== chosen.current) setTyped(search.topic)
  }
  const q = useSettled(typed.trim(), LOOK_UP_REST_MS)
  const found = useRead('list topics', { query: { q, fields: 'name', limit: MOST_NAMES } }, { everyMs: 0 })
  const names = found.data?.topics.map(({ name }) => name) ?? []
  const choose = (topic: string) => {
    chosen.current = topic
    if (topic !== search.topic) set({ topic, partition: null, segment: null, offset: null })
  }
  const look = useEffectEvent(() => {
    if (names.includes(typed) || (isOptional && typed === '')) choose(typed)
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new text or new names may make a choice
  useEffect(() => look(), [typed, found.data])
  return (
    <form
      className="w-96 max-w-full"
      onSubmit={event => {
        event.preventDefault()
        choose(typed.trim())
      }}
    >
      <TextField
        label="Topic"
        list={id}
        value={typed}
        onChange={setTyped}
        placeholder={isOptional ? 'All topics; type a part of a name' : 'Type a part of its name'}
        hint={found.problem?.detail}
        autoComplete="off"
        spellCheck={false}
      />
      <datalist id={id}>
        {names.map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  )
}
