// Decides which things of the cluster need attention, and says each in a sentence with the page where it can be looked
// at. Things of one kind are one sentence, so that two hundred silent groups do not hide a failing store.

import type { z } from 'zod'
import type { brokerListShape } from '../../../src/api/brokers.ts'
import type { GroupList, SilentBroker } from '../../../src/api/groups.ts'
import type { HealthInFull } from '../../../src/api/health.ts'
import type { consumerLagsShape } from '../../../src/api/metrics.ts'
import type { JobCounts } from '../../../src/api/offload-jobs.ts'
import type { OVERVIEW_CHARTS, PageId } from '../../../src/api/pages.ts'
import type { storageShape } from '../../../src/api/storage.ts'
import type { Target } from '../../shell/address.tsx'
import { count, counted } from '../../text/format.ts'
import { RANGE_ROWS, type Range } from './course.ts'
import { remoteHealthOf } from './remote-health.ts'

export type ConsumerLag = z.output<typeof consumerLagsShape>['groups'][number]

export type OverviewChart = (typeof OVERVIEW_CHARTS)[number]

export interface Attention {
  readonly id: string
  readonly tone: 'danger' | 'warn'
  /** The sentence is `before`, the name, and `after`. A name is data, so the page marks where it begins and ends. */
  readonly before: string
  readonly name: string | null
  readonly after: string
  /** The page that shows more, or the chart of the overview; null if nothing does. */
  readonly target: Target<PageId> | { readonly chart: OverviewChart } | null
}

/** The newest answers; undefined before the first. */
export interface Facts {
  readonly health: HealthInFull | undefined
  readonly brokers: z.output<typeof brokerListShape> | undefined
  /** The groups with the highest lags. */
  readonly groups: GroupList['groups'] | undefined
  /** True if there are more groups than these. */
  readonly hasMoreGroups: boolean
  readonly lags: readonly ConsumerLag[] | undefined
  readonly store: z.output<typeof storageShape>['store'] | undefined
  /** The offload jobs by status; undefined without a remote tier. */
  readonly jobs: JobCounts | undefined
  /** The brokers that an answer names as missing. */
  readonly silent: readonly SilentBroker[]
  readonly backpressured: number
  readonly failures: number
  readonly lossyRecords: number
  /** The range of the failures and lossy records; null if they count since the start, because there is no history. */
  readonly range: Range | null
  readonly hasShippedPassword: boolean
}

/** A lag that never fell over this many samples, and rose, grows. */
export const GROWING_SAMPLES = 5

/** Returns the sentences, the most urgent first. */
export function needsAttention(facts: Facts): readonly Attention[] {
  return [
    ...checks(facts),
    ...brokers(facts),
    ...store(facts),
    ...remote(facts),
    ...losses(facts),
    ...groups(facts),
    ...connections(facts),
    ...password(facts),
  ]
}

/** The words for the components of the health tree. */
const COMPONENTS: Readonly<Record<string, string>> = {
  redis: 'Redis',
  store: 'the store',
  broker: 'the broker',
  diskSpace: 'free disk space',
  ssl: 'the TLS certificates',
}

/** Returns the components that are not up, in words. */
export function failedChecks(health: HealthInFull | undefined): readonly string[] {
  return Object.entries(health?.details.components ?? {})
    .filter(([, { status }]) => status !== 'UP')
    .map(([name]) => COMPONENTS[name] ?? name)
}

type Part = (facts: Facts) => readonly Attention[]

const checks: Part = ({ health, brokers: list }) => {
  const failed = failedChecks(health)
  if (failed.length === 0) return []
  const self = list?.brokers.find(({ isSelf }) => isSelf)
  const target: Target<PageId> =
    self === undefined ? { page: 'brokers' } : { page: 'broker', params: { broker: String(self.id) } }
  const text = `The health check of ${failed.join(' and ')} fails.`
  return [{ id: 'check', tone: 'danger', before: text, name: null, after: '', target }]
}

const brokers: Part = ({ brokers: list, silent }) => {
  const reasons = new Map<number, string>()
  for (const { id, silentReason } of list?.brokers ?? []) if (silentReason !== null) reasons.set(id, silentReason)
  for (const { brokerId, reason } of silent) if (!reasons.has(brokerId)) reasons.set(brokerId, reason)
  const target = { page: 'brokers' } as const
  const found: Attention[] = []
  if (reasons.size > 0) {
    const ids = [...reasons.keys()].sort((one, other) => one - other)
    const [first] = reasons.values()
    const text =
      ids.length === 1
        ? `The numbers of broker ${ids[0]} are missing: ${first}.`
        : `The numbers of the brokers ${ids.join(', ')} are missing.`
    found.push({ id: 'silent', tone: 'danger', before: text, name: null, after: '', target })
  }
  const leaderless = list?.leaderless ?? 0
  if (leaderless > 0) {
    const text = `No broker leads ${counted(leaderless, 'partition')} of ${count(list!.partitions)}.`
    found.push({ id: 'leaderless', tone: 'danger', before: text, name: null, after: '', target })
  }
  return found
}

const store: Part = ({ store: state }) => {
  if (state === undefined || state.breaker === 'disabled' || state.breaker === 'closed') return []
  const text =
    state.breaker === 'open'
      ? 'The circuit breaker of the store is open: the broker refuses requests until the store answers again.'
      : 'The circuit breaker of the store is half open: the broker tries whether the store answers again.'
  return [{ id: 'breaker', tone: 'danger', before: text, name: null, after: '', target: { page: 'storage' } }]
}

/** Suspended jobs are a part of the warning. */
const remote: Part = ({ health, jobs }) => {
  const { warning, isOpen } = remoteHealthOf(health) ?? { warning: null, isOpen: false }
  const found: Attention[] = []
  if (warning !== null) {
    const tone = isOpen ? 'danger' : 'warn'
    const target = { page: 'storage', search: { tab: 'remote' } } as const
    found.push({ id: 'remote', tone, before: 'Remote tier: ', name: warning, after: '', target })
  }
  const retried = (jobs?.failed ?? 0) - (jobs?.suspended ?? 0)
  if (retried > 0) {
    const text = `${counted(retried, 'offload job')} failed: the storage worker tries again.`
    const target = { page: 'storage', search: { tab: 'jobs', status: 'failed' } } as const
    found.push({ id: 'failed-jobs', tone: 'warn', before: text, name: null, after: '', target })
  }
  return found
}

const losses: Part = ({ failures, lossyRecords, range }) => {
  const found: Attention[] = []
  const within = range === null ? 'since the start of the broker' : `in the last ${RANGE_ROWS[range].label}`
  if (lossyRecords > 0) {
    const text = `${counted(lossyRecords, 'record')} ${lossyRecords === 1 ? 'was' : 'were'} lost or damaged ${within}.`
    found.push({ id: 'lossy', tone: 'danger', before: text, name: null, after: '', target: { page: 'storage' } })
  }
  if (failures > 0) {
    const text = `${counted(failures, 'failure')} ${within}: requests that the broker could not serve, and refused sign-ins or connections.`
    // The broker has one counter of all failures. The history alone tells more: when they were.
    const target = range === null ? null : ({ chart: 'failures' } as const)
    found.push({ id: 'failures', tone: 'warn', before: text, name: null, after: '', target })
  }
  return found
}

/** A sentence about one group, or about many. */
interface GroupSentence {
  readonly id: string
  readonly tone: Attention['tone']
  /** Behind the name of the group. */
  readonly one: string
  /** Behind the number of groups, before the name of the first. */
  readonly many: string
  /** True if further groups, which are not listed, may be meant too. */
  readonly isAtLeast?: boolean
}

const groups: Part = ({ groups: list = [], hasMoreGroups, lags = [] }) => {
  const behind = (lag: number | null) => `${counted(lag, 'record')} behind`
  const abandoned = list.filter(({ members, lag }) => members === 0 && (lag.totalLag ?? 0) > 0)
  const abandonedIds = new Set(abandoned.map(({ groupId }) => groupId))
  const growing = lags
    .filter(({ groupId, samples = [] }) => !abandonedIds.has(groupId) && isGrowing(samples))
    .sort((one, other) => (other.totalLag ?? 0) - (one.totalLag ?? 0))
  const unknown = lags.filter(({ partitionsWithUnknownLag }) => partitionsWithUnknownLag > 0)
  return [
    ...aboutGroups(abandoned, {
      id: 'abandoned',
      tone: 'danger',
      one: `has no members and is ${behind(abandoned[0]?.lag.totalLag ?? null)}.`,
      many: 'have lag and no members, first of all',
      isAtLeast: hasMoreGroups && list.every(({ lag }) => (lag.totalLag ?? 0) > 0),
    }),
    ...aboutGroups(growing, {
      id: 'growing',
      tone: 'warn',
      one: `falls further behind: its lag has grown to ${counted(growing[0]?.totalLag, 'record')}.`,
      many: 'fall further behind, first of all',
    }),
    ...aboutGroups(unknown, {
      id: 'unknown-lag',
      tone: 'warn',
      one: `has an unknown lag in ${counted(unknown[0]?.partitionsWithUnknownLag, 'partition')}.`,
      many: 'have an unknown lag, first of all',
    }),
  ]
}

function aboutGroups(
  found: readonly { readonly groupId: string }[],
  { id, tone, one, many, isAtLeast = false }: GroupSentence,
): readonly Attention[] {
  const [first] = found
  if (first === undefined) return []
  const name = first.groupId
  if (found.length === 1)
    return [
      {
        id,
        tone,
        before: 'Consumer group ',
        name,
        after: ` ${one}`,
        target: { page: 'group', params: { group: name } },
      },
    ]
  const before = `${isAtLeast ? 'At least ' : ''}${found.length} consumer groups ${many} `
  return [{ id, tone, before, name, after: '.', target: { page: 'groups' } }]
}

/** Returns whether the lag never fell over the newest samples, and rose. */
function isGrowing(samples: readonly { readonly lag: number | null }[]): boolean {
  const newest = samples.slice(-GROWING_SAMPLES).flatMap(({ lag }) => lag ?? [])
  if (newest.length < GROWING_SAMPLES) return false
  return newest.at(-1)! > newest[0]! && newest.every((lag, at) => at === 0 || lag >= newest[at - 1]!)
}

const connections: Part = ({ backpressured }) => {
  if (backpressured === 0) return []
  const text = `${counted(backpressured, 'connection')} ${backpressured === 1 ? 'is' : 'are'} held back: the client does not read its answers.`
  return [{ id: 'backpressure', tone: 'warn', before: text, name: null, after: '', target: { page: 'brokers' } }]
}

const password: Part = ({ hasShippedPassword }) => {
  if (!hasShippedPassword) return []
  const text = 'You sign in with the password that Ketch ships. Change it.'
  return [{ id: 'password', tone: 'warn', before: text, name: null, after: '', target: { page: 'password' } }]
}
