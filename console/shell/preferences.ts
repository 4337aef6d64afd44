// The choices of a person in this browser: theme, time zone, shortcuts, columns. The storage of the browser keeps them.
// A choice in one tab holds in the others at once.

import { useSyncExternalStore } from 'react'
import { isZone } from '../text/zone.ts'

export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark'
  /** `local`, or an IANA name such as `UTC` or `Asia/Kolkata`. */
  readonly zone: string
  /** True while the user has stopped the updates. */
  readonly isPaused: boolean
  readonly hasShortcuts: boolean
  /** The hidden columns of each table, by the name of the table. */
  readonly hiddenColumns: Readonly<Record<string, readonly string[]>>
  /** The order in which each topic was last read. */
  readonly orders: Readonly<Record<string, 'oldest' | 'newest'>>
}

const DEFAULTS: Preferences = {
  theme: 'system',
  zone: 'local',
  isPaused: false,
  hasShortcuts: true,
  hiddenColumns: {},
  orders: {},
}

/** Choices that end with the page. */
const TRANSIENT: ReadonlySet<string> = new Set<keyof Preferences>(['isPaused'])
const PLACE = 'ketch-console'

const isWord = (value: unknown): value is string => typeof value === 'string'
const isSwitch = (value: unknown) => typeof value === 'boolean'

function isTable(value: unknown, isMember: (member: unknown) => boolean): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every(isMember)
}

/** Checks each choice, because another version of the console, or another program, may have written another value. */
const CHECKS: { readonly [Name in keyof Preferences]: (value: unknown) => boolean } = {
  theme: value => isWord(value) && ['system', 'light', 'dark'].includes(value),
  zone: value => value === 'local' || (isWord(value) && isZone(value)),
  isPaused: isSwitch,
  hasShortcuts: isSwitch,
  hiddenColumns: value => isTable(value, each => Array.isArray(each) && each.every(isWord)),
  orders: value => isTable(value, each => each === 'oldest' || each === 'newest'),
}

let current: Preferences = { ...DEFAULTS, ...stored() }
const listeners = new Set<() => void>()

function stored(): Partial<Preferences> {
  let found: unknown
  try {
    found = JSON.parse(localStorage.getItem(PLACE) ?? '{}')
  } catch {
    // The browser keeps nothing, or something else wrote there.
    return {}
  }
  if (typeof found !== 'object' || found === null) return {}
  const good = Object.entries(found).filter(
    ([name, value]) => Object.hasOwn(CHECKS, name) && CHECKS[name as keyof Preferences](value),
  )
  return Object.fromEntries(good)
}

function tell(): void {
  for (const listener of listeners) listener()
}

export function readPreference<Name extends keyof Preferences>(name: Name): Preferences[Name] {
  return current[name]
}

export function setPreference<Name extends keyof Preferences>(name: Name, value: Preferences[Name]): void {
  current = { ...current, [name]: value }
  try {
    const kept = Object.entries(current).filter(([each]) => !TRANSIENT.has(each))
    localStorage.setItem(PLACE, JSON.stringify(Object.fromEntries(kept)))
  } catch {
    // The choice then holds until the page is left.
  }
  tell()
}

/** Returns a preference and the function that sets it. */
export function usePreference<Name extends keyof Preferences>(
  name: Name,
): readonly [Preferences[Name], (value: Preferences[Name]) => void] {
  const value = useSyncExternalStore(subscribe, () => current[name])
  return [value, given => setPreference(name, given)]
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Follows the other tabs, and shows the theme. Called once for the page. */
export function followPreferences(): void {
  const show = () => document.documentElement.setAttribute('data-theme', current.theme)
  listeners.add(show)
  show()
  addEventListener('storage', ({ key }) => {
    if (key !== PLACE) return
    current = { ...DEFAULTS, ...stored(), isPaused: current.isPaused }
    tell()
  })
}
