// The pages of the web console, in one table without a word about how they look. The broker answers these paths with
// the console and no others; the console makes its routes, navigation, palette, shortcuts, help and titles of it; the
// tests loop over it. A new page is a row here and a folder in console/pages/.

import {
  DECODINGS,
  DELETED_CHOICES,
  EDGES,
  JOB_SORTS,
  JOB_STATUSES,
  JUDGED_TOPIC_SORTS,
  ORDERS,
  READING_ORDERS,
  SUBJECT_SORTS,
  TOPIC_METRIC_SORTS,
  TOPIC_SORTS,
} from './words.ts'

/** A search parameter of a page. `read` returns its value, or the fallback for a text that it does not take. */
export interface Param<T> {
  readonly fallback: T
  read(text: string | undefined): T
}

function choice<const T extends string>(words: readonly T[], fallback: NoInfer<T> = words[0]!): Param<T> {
  return { fallback, read: text => words.find(word => word === text) ?? fallback }
}

/** Any text; the fallback is ''. */
function text(): Param<string> {
  return { fallback: '', read: given => given ?? '' }
}

/** A whole number from `min`; null if the address has none. */
function whole(min = 0): Param<number | null> {
  return {
    fallback: null,
    read(given) {
      const value = given !== undefined && /^[0-9]{1,16}$/.test(given) ? Number(given) : null
      return value !== null && Number.isSafeInteger(value) && value >= min ? value : null
    },
  }
}

/** A switch, which is off unless the address says `true`. */
function flag(): Param<boolean> {
  return { fallback: false, read: given => given === 'true' }
}

/** The parameters of a list: filter, sorting and the number of rows before the page. */
function list<const T extends string>(sorts: readonly T[], fallback: NoInfer<T>, order: 'asc' | 'desc' = 'asc') {
  return { q: text(), sort: choice(sorts, fallback), order: choice(ORDERS, order), offset: whole() }
}

export interface Page {
  /** The path, with `:name` for a parameter. The broker answers exactly these paths. */
  readonly path: string
  /** The title, and the heading while nothing more exact is known. */
  readonly title: string
  /** The entry of the navigation; null if the page has none. */
  readonly label: string | null
  /** The key that opens the page after `g`. */
  readonly shortcut: string | null
  /** True for a page that needs no session. */
  readonly isOpen?: true
  /** The capability without which the page does not exist (src/api/capabilities.ts). */
  readonly capability?: string
  /** The search parameters. The address of the page holds its whole state. */
  readonly search: Readonly<Record<string, Param<unknown>>>
}

export const STORAGE_TABS = Object.freeze(['local', 'remote', 'segments', 'jobs'] as const)
export const SECURITY_TABS = Object.freeze(['users', 'acls', 'credentials'] as const)
export const TOPIC_TABS = Object.freeze(['overview', 'partitions', 'configuration', 'schemas', 'access'] as const)
export const SCHEMA_TABS = Object.freeze(['subjects', 'topics', 'ids'] as const)
export const SUBJECT_TABS = Object.freeze(['versions', 'compare', 'references', 'topics'] as const)
export const RECORD_TABS = Object.freeze(['value', 'key', 'headers', 'details', 'compare'] as const)
export const PARTITION_SORTS = Object.freeze(['partition', 'leader', 'records', 'sizeBytes'] as const)
export const GROUP_TABS = Object.freeze(['partitions', 'members', 'access'] as const)
export const BROKER_TABS = Object.freeze(['checks', 'settings', 'loggers'] as const)
export const AGENT_TABS = Object.freeze(['connect', 'tools', 'calls'] as const)
export const OVERVIEW_CHARTS = Object.freeze(['throughput', 'latency', 'failures'] as const)
export const RANGES = Object.freeze(['15m', '1h'] as const)
export const PAGE_SIZES = Object.freeze(['25', '50', '100', '200'] as const)

export const pages = {
  overview: {
    path: '/',
    title: 'Overview',
    label: 'Overview',
    shortcut: 'o',
    /** A phone shows one chart at a time. */
    search: { range: choice(RANGES), chart: choice(OVERVIEW_CHARTS) },
  },
  topics: {
    path: '/topics',
    title: 'Topics',
    label: 'Topics',
    shortcut: 't',
    search: {
      ...list([...TOPIC_SORTS, ...TOPIC_METRIC_SORTS.filter(sort => sort !== 'name')], 'name'),
      internal: flag(),
      create: flag(),
      /** The topic whose partitions and configs the new one takes over. */
      like: text(),
    },
  },
  topic: {
    path: '/topics/:topic',
    title: 'Topic',
    label: null,
    shortcut: null,
    search: {
      tab: choice(TOPIC_TABS),
      range: choice(RANGES),
      produce: flag(),
      /** The order of the partitions. */
      sort: choice(PARTITION_SORTS),
      order: choice(ORDERS),
      /** Part of the name of a config. */
      q: text(),
      /** Only configs that the topic or a pattern sets. */
      modified: flag(),
    },
  },
  messages: {
    path: '/topics/:topic/messages',
    title: 'Messages',
    label: null,
    shortcut: null,
    search: {
      partition: whole(),
      from: choice([...EDGES, 'offset', 'timestamp', ''] as const, ''),
      offset: whole(),
      timestamp: whole(),
      /** Without it, the order in which the user last read this topic. */
      order: choice([...READING_ORDERS, ''] as const, ''),
      limit: choice(PAGE_SIZES, '50'),
      /** Without it, the decoding that suits the topic: that of its schemas, or UTF-8. */
      decode: choice([...DECODINGS, ''] as const, ''),
      keyDecode: choice([...DECODINGS, ''] as const, ''),
      contains: text(),
      cursor: text(),
      live: flag(),
      /** The open record, as partition-offset. */
      at: text(),
      view: choice(RECORD_TABS),
      /** The record that others are compared with, as partition-offset. */
      pin: text(),
    },
  },
  groups: {
    path: '/groups',
    title: 'Consumer groups',
    label: 'Consumer groups',
    shortcut: 'c',
    search: { ...list(['groupId', 'state', 'lag.totalLag'], 'lag.totalLag', 'desc'), state: text() },
  },
  group: {
    path: '/groups/:group',
    title: 'Consumer group',
    label: null,
    shortcut: null,
    search: { tab: choice(GROUP_TABS), topic: text(), offset: whole(), reset: flag() },
  },
  schemas: {
    path: '/schemas',
    title: 'Schemas',
    label: 'Schemas',
    shortcut: 'm',
    search: {
      tab: choice(SCHEMA_TABS),
      /** A tab that does not know the sort has one of its own. */
      ...list([...SUBJECT_SORTS, ...JUDGED_TOPIC_SORTS], 'subject'),
      /** Whether subjects are listed whose versions are all deleted. */
      deleted: choice(DELETED_CHOICES),
      /** Topics that are not judged too. */
      all: flag(),
      /** The id of a schema. */
      id: whole(1),
      register: flag(),
    },
  },
  subject: {
    path: '/schemas/:subject',
    title: 'Subject',
    label: null,
    shortcut: null,
    search: {
      tab: choice(SUBJECT_TABS),
      /** The version that is shown; the latest one by default. */
      version: whole(1),
      /** The version that it is compared with; the one before by default. */
      against: whole(1),
      offset: whole(),
      register: flag(),
    },
  },
  brokers: { path: '/brokers', title: 'Brokers', label: 'Brokers', shortcut: 'b', search: {} },
  broker: {
    path: '/brokers/:broker',
    title: 'Broker',
    label: null,
    shortcut: null,
    search: { tab: choice(BROKER_TABS), q: text(), set: flag() },
  },
  storage: {
    path: '/storage',
    title: 'Storage',
    label: 'Storage',
    shortcut: 's',
    search: {
      tab: choice(STORAGE_TABS),
      /** A tab that does not know the sort has one of its own. */
      ...list(['sizeBytes', ...JOB_SORTS], 'sizeBytes', 'desc'),
      /** The partition whose segments are shown, or the topic whose jobs are. */
      topic: text(),
      partition: whole(),
      /** The first offset of the open segment. */
      segment: whole(),
      /** Only the offload jobs with this status. */
      status: choice([...JOB_STATUSES, ''] as const, ''),
    },
  },
  security: {
    path: '/security',
    title: 'Security',
    label: 'Security',
    shortcut: 'e',
    search: {
      tab: choice(SECURITY_TABS),
      q: text(),
      sort: text(),
      order: choice(ORDERS),
      offset: whole(),
    },
  },
  agents: {
    path: '/agents',
    title: 'Agent tools',
    label: 'Agent tools',
    shortcut: 'a',
    search: { tab: choice(AGENT_TABS) },
  },
  signIn: {
    path: '/login',
    title: 'Sign in',
    label: null,
    shortcut: null,
    isOpen: true,
    search: { to: text(), error: text() },
  },
  setup: { path: '/setup', title: 'First-run setup', label: null, shortcut: null, isOpen: true, search: {} },
  password: { path: '/password', title: 'Change password', label: null, shortcut: null, search: { to: text() } },
} as const satisfies Readonly<Record<string, Page>>

export type PageId = keyof typeof pages

/** The search parameters of a page with their types. */
export type SearchOf<Id extends PageId> = {
  -readonly [Name in keyof (typeof pages)[Id]['search']]: (typeof pages)[Id]['search'][Name] extends Param<infer T>
    ? T
    : never
}

/** The names in the path of a page. */
export type ParamsOf<Id extends PageId> = (typeof pages)[Id]['path'] extends `${string}:${infer Rest}`
  ? Record<Rest extends `${infer Name}/${string}` ? Name : Rest, string>
  : Record<never, never>

/** Returns the page whose path is this one; undefined for other paths, and for those with a parameter. */
export function pageAt(pathname: string): PageId | undefined {
  return (Object.keys(pages) as PageId[]).find(id => pages[id].path === pathname)
}

/** Returns the search parameters of a page from those of an address. A text that no parameter takes is ignored. */
export function readSearch<Id extends PageId>(
  id: Id,
  given: Readonly<Record<string, string | undefined>>,
): SearchOf<Id> {
  const search: Page['search'] = pages[id].search
  return Object.fromEntries(
    Object.entries(search).map(([name, param]) => [name, param.read(given[name])]),
  ) as SearchOf<Id>
}

/** Returns the texts for the address, without those that the page would assume anyway. */
export function writeSearch<Id extends PageId>(id: Id, values: Partial<SearchOf<Id>>): Record<string, string> {
  const search: Page['search'] = pages[id].search
  return Object.fromEntries(
    Object.entries(values)
      .filter(([name, value]) => value !== undefined && value !== null && value !== search[name]?.fallback)
      .map(([name, value]) => [name, String(value)]),
  )
}
