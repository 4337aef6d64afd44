// The palette: go to a page, a topic or a group by typing a part of its name, or run a verb. A combobox after the
// pattern of WAI-ARIA: the focus stays in the field, the arrows choose. It is part of the first load: the keys that follow
// Ctrl K at once must find the field.

import { useId, useState } from 'react'
import { type Page, type PageId, pages } from '../../src/api/pages.ts'
import type { Operation } from '../api/client.ts'
import { queryClient, useRead } from '../api/queries.ts'
import { Dialog } from '../parts/dialog.tsx'
import { CONTROL } from '../parts/field.tsx'
import { type Target, useGo } from './address.tsx'
import { setPreference, usePreference } from './preferences.ts'
import { useSession } from './session.tsx'
import { useShell } from './shell.ts'

interface Entry {
  readonly id: string
  readonly label: string
  readonly kind: string
  /** The operation that the user must be allowed to run; none for a way to somewhere. */
  readonly operation?: Operation
  run(): void
}

const MOST_NAMES = 20

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const go = useGo()
  const { open } = useShell()
  const { may, signOut, status } = useSession()
  const [isPaused, setPaused] = usePreference('isPaused')
  const list = useId()
  const named = typed.trim() !== ''
  const query = { q: typed.trim(), limit: MOST_NAMES }
  const topics = useRead('list topics', { query: { ...query, fields: 'name' } }, { isWanted: named, everyMs: 0 })
  const groups = useRead('list groups', { query }, { isWanted: named, everyMs: 0 })

  const visit = (target: Target<PageId>) => () => go(target)
  const ways: Entry[] = (Object.keys(pages) as PageId[]).flatMap(id => {
    const { label, title }: Page = pages[id]
    return label === null ? [] : [{ id, label: title, kind: 'Page', run: visit({ page: id }) }]
  })
  const verbs: Entry[] = [
    {
      id: 'create',
      label: 'Create topic',
      kind: 'Do',
      operation: 'create topic',
      run: () => go({ page: 'topics', search: { create: true } }),
    },
    {
      id: 'user',
      label: 'Create console user',
      kind: 'Do',
      operation: 'create user',
      run: () => go({ page: 'security', search: { tab: 'users' } }),
    },
    {
      id: 'acl',
      label: 'Grant access (ACL)',
      kind: 'Do',
      operation: 'create acl',
      run: () => go({ page: 'security', search: { tab: 'acls' } }),
    },
    {
      id: 'credential',
      label: 'Create SASL credential',
      kind: 'Do',
      operation: 'store credential',
      run: () => go({ page: 'security', search: { tab: 'credentials' } }),
    },
    { id: 'refresh', label: 'Refresh now', kind: 'Do', run: () => void queryClient.invalidateQueries() },
    { id: 'pause', label: isPaused ? 'Resume updates' : 'Pause updates', kind: 'Do', run: () => setPaused(!isPaused) },
    { id: 'light', label: 'Use the light theme', kind: 'Do', run: () => setPreference('theme', 'light') },
    { id: 'dark', label: 'Use the dark theme', kind: 'Do', run: () => setPreference('theme', 'dark') },
    { id: 'system', label: 'Use the theme of the system', kind: 'Do', run: () => setPreference('theme', 'system') },
    { id: 'help', label: 'Show the keys', kind: 'Do', run: () => open('help') },
    ...(status?.user === undefined
      ? []
      : [{ id: 'sign-out', label: 'Sign out', kind: 'Do', run: () => void signOut() }]),
  ]
  const allowed = [...ways, ...verbs].filter(({ operation }) => operation === undefined || may(operation))
  const wanted = typed.trim().toLowerCase()
  const found = allowed.filter(({ label }) => label.toLowerCase().includes(wanted))
  const names: Entry[] = named
    ? [
        ...(topics.data?.topics ?? []).map(({ name }) => ({
          id: `topic ${name}`,
          label: name,
          kind: 'Topic',
          run: visit({ page: 'topic', params: { topic: name } } as Target<PageId>),
        })),
        ...(groups.data?.groups ?? []).map(({ groupId }) => ({
          id: `group ${groupId}`,
          label: groupId,
          kind: 'Group',
          run: visit({ page: 'group', params: { group: groupId } } as Target<PageId>),
        })),
      ]
    : []
  const entries = [...found, ...names]
  const at = Math.min(chosen, Math.max(0, entries.length - 1))
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return
    onClose()
    entry.run()
  }
  return (
    <Dialog title="Go to, or do" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={entries[at] === undefined ? undefined : `${list}-${at}`}
        aria-label="Part of a page, topic, group or verb"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        className={CONTROL}
        onChange={({ target }) => {
          setTyped(target.value)
          setChosen(0)
        }}
        onKeyDown={event => {
          if (event.key === 'Enter') run(entries[at])
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
          if (step === 0) return
          event.preventDefault()
          setChosen((at + step + entries.length) % Math.max(1, entries.length))
        }}
      />
      <div id={list} role="listbox" aria-label="Found" className="mt-2 max-h-96 overflow-y-auto" tabIndex={-1}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and the keys
          <div
            key={entry.id}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            ref={element => {
              if (index === at) element?.scrollIntoView({ block: 'nearest' })
            }}
            onClick={() => run(entry)}
            className={`flex min-h-9 cursor-pointer items-center justify-between gap-4 rounded-control px-2 ${index === at ? 'bg-info-soft' : ''}`}
          >
            <span className="min-w-0">{entry.label}</span>
            <span className="text-dense text-muted">{entry.kind}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className="mt-2 text-muted">No page, topic, group or verb contains “{typed}”.</p>}
    </Dialog>
  )
}
