// The addresses that a walk over the console visits: every page of the table with each of its tabs, on the names that
// seeded.ts has made, and the views that only a search parameter opens.

import type { Page } from 'playwright-core'
import {
  AGENT_TABS,
  BROKER_TABS,
  GROUP_TABS,
  type PageId,
  type ParamsOf,
  pages,
  RECORD_TABS,
  SCHEMA_TABS,
  SECURITY_TABS,
  type SearchOf,
  STORAGE_TABS,
  SUBJECT_TABS,
  TOPIC_TABS,
  writeSearch,
} from '../../src/api/pages.ts'
import { NAMES } from './seeded.ts'
import { JUDGED_TOPIC, SUBJECTS } from './seeded-schemas.ts'
import { TIERED } from './seeded-tier.ts'

export interface Stop {
  /** Names the test, and the files of its screenshots. */
  readonly name: string
  readonly page: PageId
  readonly address: string
}

type WithTabs = { [Id in PageId]: 'tab' extends keyof SearchOf<Id> ? Id : never }[PageId]

const TABS: { readonly [Id in WithTabs]: readonly SearchOf<Id>['tab'][] } = {
  topic: TOPIC_TABS,
  group: GROUP_TABS,
  schemas: SCHEMA_TABS,
  subject: SUBJECT_TABS,
  broker: BROKER_TABS,
  storage: STORAGE_TABS,
  security: SECURITY_TABS,
  agents: AGENT_TABS,
}

/** Where the names in paths come from. */
const PARAMS: Readonly<Record<string, string>> = {
  topic: NAMES.topic,
  group: NAMES.idleGroup,
  subject: SUBJECTS.main,
  broker: '0',
}

/** Returns the address of a page. */
export function addressOf<Id extends PageId>(
  page: Id,
  search: Partial<SearchOf<Id>> = {},
  params: Partial<ParamsOf<Id>> = {},
): string {
  const given = { ...PARAMS, ...(params as Readonly<Record<string, string>>) }
  const path = pages[page].path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(given[name]!))
  const query = new URLSearchParams(writeSearch(page, search))
  return query.size === 0 ? path : `${path}?${query}`
}

function stop<Id extends PageId>(
  page: Id,
  view = '',
  search: Partial<SearchOf<Id>> = {},
  params: Partial<ParamsOf<Id>> = {},
): Stop {
  return { name: view === '' ? page : `${page}, ${view}`, page, address: addressOf(page, search, params) }
}

const isOpen = (id: PageId) => 'isOpen' in pages[id]

/** Every page with its tabs. */
export const pageStops: readonly Stop[] = (Object.keys(pages) as PageId[])
  .filter(id => !isOpen(id))
  .flatMap(id => {
    const tabs: readonly string[] | undefined = TABS[id as WithTabs]
    return tabs === undefined ? [stop(id)] : tabs.map(tab => stop(id, tab, { tab } as Partial<SearchOf<typeof id>>))
  })

const long = { topic: NAMES.long }
const odd = { topic: NAMES.odd }

/** Views that only a parameter opens. */
export const views: readonly Stop[] = [
  stop('topics', 'none found', { q: 'no topic has this name' }),
  stop('topic', 'long name', {}, long),
  stop('topic', '128 partitions', { tab: 'partitions' }, { topic: NAMES.wide }),
  ...RECORD_TABS.map(view => stop('messages', `record, ${view}`, { at: '0-4', view }, odd)),
  stop('messages', 'odd records', {}, odd),
  stop('messages', 'null record', { at: '0-0' }, odd),
  stop('messages', 'not text', { at: '0-2' }, odd),
  stop('messages', 'large record', { at: '0-6' }, odd),
  stop('messages', 'compared', { at: '0-4', pin: '0-5', view: 'compare' }, odd),
  stop('messages', 'none', {}, { topic: NAMES.empty }),
  stop('messages', 'none found', { contains: 'no record has this text' }),
  stop('messages', 'long name', {}, long),
  stop('messages', 'live', { live: true }),
  stop('groups', 'none found', { q: 'no group has this name' }),
  stop('group', 'members', { tab: 'members' }, { group: NAMES.liveGroup }),
  stop('group', 'long name', {}, { group: NAMES.long }),
  stop('storage', 'segments of a partition', { tab: 'segments', topic: NAMES.compacted }),
  stop('storage', 'segments of no topic', { tab: 'segments', topic: 'no-such-topic' }),
  stop('storage', 'segments in both tiers', { tab: 'segments', topic: TIERED.archived }),
  stop('storage', 'files of a segment', { tab: 'segments', topic: TIERED.archived, segment: 0 }),
  stop('storage', 'failed jobs', { tab: 'jobs', status: 'failed' }),
  stop('storage', 'jobs of a topic without any', { tab: 'jobs', topic: NAMES.empty }),
  stop('storage', 'no table found', { tab: 'remote', q: 'no topic has this name' }),
  stop('topic', 'in both tiers', { tab: 'configuration' }, { topic: TIERED.archived }),
  stop('schemas', 'none found', { q: 'no subject has this name' }),
  stop('schemas', 'deleted', { deleted: 'only' }),
  stop('schemas', 'all topics', { tab: 'topics', all: true }),
  stop('schemas', 'an id', { tab: 'ids', id: 1 }),
  stop('schemas', 'an unknown id', { tab: 'ids', id: 999_999_999 }),
  stop('subject', 'Protobuf', {}, { subject: SUBJECTS.proto }),
  stop('subject', 'JSON Schema, read-only', {}, { subject: SUBJECTS.json }),
  stop('subject', 'incompatible versions', { tab: 'compare', version: 1, against: 3 }),
  stop('subject', 'a deleted version', { version: 2 }),
  stop('subject', 'without a difference', { tab: 'compare' }, { subject: SUBJECTS.money }),
  stop('subject', 'with referrers', { tab: 'references' }, { subject: SUBJECTS.money }),
  stop('subject', 'deleted', {}, { subject: SUBJECTS.deleted }),
  stop('subject', 'without versions', {}, { subject: SUBJECTS.bare }),
  stop('subject', 'long name', {}, { subject: SUBJECTS.long }),
  stop('topic', 'judged', { tab: 'schemas' }, { topic: JUDGED_TOPIC }),
  stop('subject', 'missing', {}, { subject: 'no-such-subject' }),
  stop('topic', 'missing', {}, { topic: 'no-such-topic' }),
  stop('group', 'missing', {}, { group: 'no-such-group' }),
]

/** Every stop for a user with a session. */
export const stops: readonly Stop[] = [...pageStops, ...views]

/** The pages that need no session. */
export const openPages = (Object.keys(pages) as PageId[]).filter(isOpen)

const SETTLED = 'body:has(main h1):not(:has([role=status][aria-label=Loading], [aria-busy=true]))'

/** Resolves when the page shows its heading and waits for no answer. */
export async function settle(page: Page): Promise<void> {
  await page.locator(SETTLED).waitFor()
}

/** Leaves the page. Once this resolves, no request of it can begin any more. */
export async function leave(page: Page): Promise<void> {
  await page.goto('about:blank')
}
