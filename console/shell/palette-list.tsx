// The list of the palette (palette.tsx): the pages, verbs, topics, groups and subjects whose name contains the typed
// text, and the one that is chosen.

import { useEffect, useState } from 'react'
import { type Page, type PageId, pages } from '../../src/api/pages.ts'
import type { Operation } from '../api/client.ts'
import { queryClient, useRead } from '../api/queries.ts'
import { type Target, useGo } from './address.tsx'
import { useCapability } from './capabilities.ts'
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

interface PaletteListProps {
  readonly id: string
  readonly typed: string
  /** The keys of the field that are not letters, oldest first. */
  readonly pressed: readonly string[]
  /** Forgets the oldest key, which the list has followed. */
  readonly onFollowed: () => void
  /** Hears the id of the chosen entry; undefined if no entry is found. */
  readonly onChosen: (id: string | undefined) => void
  readonly onClose: () => void
}

export function PaletteList({ id: list, typed, pressed, onFollowed, onChosen, onClose }: PaletteListProps) {
  const [choice, setChoice] = useState({ typed, at: 0 })
  const go = useGo()
  const { open } = useShell()
  const { may, signOut, status } = useSession()
  const [isPaused, setPaused] = usePreference('isPaused')
  const named = typed.trim() !== ''
  const query = { q: typed.trim(), limit: MOST_NAMES }
  const topics = useRead('list topics', { query: { ...query, fields: 'name' } }, { isWanted: named, everyMs: 0 })
  const groups = useRead('list groups', { query }, { isWanted: named, everyMs: 0 })
  const hasRegistry = useCapability('schema-registry')?.state === 'on'
  const subjects = useRead('list schema subjects', { query }, { isWanted: named && hasRegistry, everyMs: 0 })

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
    ...(hasRegistry
      ? [
          {
            id: 'schema',
            label: 'Register schema',
            kind: 'Do',
            operation: 'register schema' as const,
            run: () => go({ page: 'schemas', search: { register: true } }),
          },
        ]
      : []),
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
        ...(subjects.data?.subjects ?? []).map(({ subject }) => ({
          id: `subject ${subject}`,
          label: subject,
          kind: 'Subject',
          run: visit({ page: 'subject', params: { subject } } as Target<PageId>),
        })),
      ]
    : []
  const entries = [...found, ...names]
  // Another text begins with its first entry.
  const at = choice.typed === typed ? Math.min(choice.at, Math.max(0, entries.length - 1)) : 0
  const chosenId = entries[at] === undefined ? undefined : `${list}-${at}`
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return
    onClose()
    entry.run()
  }
  useEffect(() => onChosen(chosenId), [chosenId, onChosen])
  useEffect(() => {
    const [key] = pressed
    if (key === undefined) return
    onFollowed()
    if (key === 'Enter') return run(entries[at])
    const step = key === 'ArrowDown' ? 1 : -1
    setChoice({ typed, at: (at + step + entries.length) % Math.max(1, entries.length) })
  })
  return (
    <>
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
      {entries.length === 0 && (
        <p className="mt-2 text-muted">No page, topic, group, subject or verb contains “{typed}”.</p>
      )}
    </>
  )
}
