// The steps at which a test can stop a broker that offloads segments, that drops what is in the table, or that keeps
// the table, and the text of the broker's modules where each step is. ../stop-at.ts changes the modules as Node loads
// them; the product has no such switch.

import { after, before, type Place } from '../order.ts'

/** This module, for openOrders. */
export const STEPS = new URL(import.meta.url)

const WORK = 'src/tier/remote/topic-work.ts'
const TABLE = 'src/tier/remote/topic-table.ts'
const UPKEEP = 'src/tier/remote/table-upkeep.ts'
const FILE = 'src/tier/offload/make-file.ts'
const SNAPSHOT = 'src/tier/iceberg/stage-snapshot.ts'
const ONCE = 'src/tier/iceberg/put-once.ts'
const COMMIT = 'src/tier/iceberg/commit.ts'
const EXPIRY = 'src/tier/iceberg/expire-snapshots.ts'
const SWEEP = 'src/tier/iceberg/sweep-orphans.ts'
const OLD = 'src/tier/iceberg/old-metadata.ts'
const READS = 'src/log/table-reads.ts'
const ROUND = 'src/log/round.ts'
const PARTITION = 'src/log/partition.ts'

/** Where the topic of the clients has something to append. */
const IF_APPENDS = "if ((change.append ?? []).length > 0 && location.includes('/kept-'))"
const CREATE = 'return await objects.create(key, bytes)'

export const FENCING = 'the table is created'
const LAST = 'a version is about to be created'
const READ_BACK = 'a file is read back'
/** In these only the topic of the clients counts, and only appends. */
export const CONFIRMED = 'nothing is checked any more before an append'
export const KEPT_READ_BACK = 'a file of the clients is read back'
export const KEPT_COMMITTED = 'a pass of the clients is committed'

/** The holder's way of a segment into the table, in its order. */
export const OFFLOAD_STEPS: readonly Place[] = [
  before(WORK, 'const claimed = await this.#claim(chosen, fence)', 'a pass has its fence'),
  after(WORK, 'const claimed = await this.#claim(chosen, fence)', 'a pass is claimed'),
  before(TABLE, 'const taken = await takeFence(', FENCING),
  {
    step: 'batches are read',
    file: FILE,
    text: 'running = encoder.add(slice)',
    instead: 'STOP; running = encoder.add(slice)',
  },
  after(FILE, 'const { parts, facts } = await encoder.finish(end)', 'a file is encoded'),
  after(FILE, 'const { length } = part\n      yield part', 'a part of a file is uploaded'),
  before(FILE, 'if (size !== facts.size) throw', 'a file is uploaded'),
  after(FILE, 'await readBack(objects, key, facts, deps)', READ_BACK),
  before(SNAPSHOT, 'const listKey = manifestListKey(', 'a manifest is written'),
  before(SNAPSHOT, 'const summary = {\n    operation', 'a manifest list is written'),
  {
    step: LAST,
    file: ONCE,
    text: CREATE,
    instead: `STOP; const creating = objects.create(key, bytes); setImmediate(() => { globalThis.stopAt('a version is being created') }); return await creating`,
  },
  before(ONCE, "if (answer === 'created') return { kind: 'ours' }", 'a version is created'),
  before(COMMIT, 'const { metadata, manifests } = staged', 'the hint is written'),
  before(WORK, 'if (stop === null) await this.#table.notify()', 'a pass is committed'),
  before(WORK, 'await this.#settle(jobs, outcomes, fence)', 'the notice is written'),
  before(WORK, 'this.#count(jobs, outcomes, clock.monotonic() - beganAtMs)', 'the jobs are settled'),
]

/** Stands in the text of LAST. */
const DURING = 'a version is being created'

/** The leader's way from the notice to the room that it makes. */
export const LEADER_STEPS: readonly Place[] = [
  before(READS, 'const isChanged = await documents.change(state, sealed => {', 'a table is read'),
  before(READS, 'if (!isChanged || !isSame()) return', 'the document has the ranges'),
  before(ROUND, 'const bytes = await partition.trim(before)', 'a log is about to be trimmed'),
  after(ROUND, 'const bytes = await partition.trim(before)', 'a log is trimmed'),
  after(
    PARTITION,
    'await this.#rooms.changeSegments(state, sealed => withLogStart(sealed, logStart))',
    'a log start is raised',
  ),
]

export const UPKEEP_STEPS: readonly Place[] = [
  before(UPKEEP, 'const committed = await removeBelow(', 'files are about to be removed'),
  after(UPKEEP, 'this.#table.table = committed.table', 'files are removed'),
  before(EXPIRY, 'const committed = await commit(', 'snapshots are about to expire'),
  before(EXPIRY, 'await deleteAll(objects, unreachable)', 'snapshots are expired'),
  after(
    EXPIRY,
    'await deleteAll(objects, unreachable).catch(error => leftovers.push(error))',
    'the files of expired snapshots are deleted',
  ),
  before(SWEEP, 'const deleted = old.filter(key => !reached.has(key))', 'orphans are found'),
  after(SWEEP, 'await deleteAll(objects, deleted)', 'orphans are deleted'),
  before(UPKEEP, 'await this.#table.noteSweep()', 'a sweep is over'),
  {
    step: 'an old version is deleted',
    file: OLD,
    text: 'for (const { version } of old) await objects.delete([versionKey(location, version)])',
    instead: 'for (const { version } of old) { await objects.delete([versionKey(location, version)]); STOP }',
  },
]

/** Steps for faults that need an append of the clients' topic. */
const KEPT_STEPS: readonly Place[] = [
  {
    step: CONFIRMED,
    file: ONCE,
    text: 'const answer = await create()',
    instead: 'if (globalThis.appendKey === key) { STOP }; const answer = await create()',
  },
  {
    step: KEPT_READ_BACK,
    file: FILE,
    text: 'return { file: { ...facts, key }, next: facts.next }',
    instead: "if (location.includes('/kept-')) { STOP }; return { file: { ...facts, key }, next: facts.next }",
  },
  {
    step: KEPT_COMMITTED,
    file: WORK,
    text: 'if (stop === null) await this.#table.notify()',
    instead: "if (this.topic.topicName === 'kept') { STOP }; if (stop === null) await this.#table.notify()",
  },
]

export const PLACES: readonly Place[] = [...OFFLOAD_STEPS, ...LEADER_STEPS, ...UPKEEP_STEPS, ...KEPT_STEPS]

/** The steps for kill -9, in the order of the way. */
export const STEP_NAMES: readonly string[] = [
  ...[...OFFLOAD_STEPS, ...LEADER_STEPS, ...UPKEEP_STEPS].flatMap(({ step }) =>
    step === LAST ? [LAST, DURING] : [step],
  ),
]

/**
 * Orphans live this long in a round, and files may be committed for half of it. It is a day in the product.
 */
export const ORPHAN_AGE_MS = 10_000

const DAY = 'const DAY_MS = 86_400_000\n/** Log starts'

/**
 * Short times, so that all upkeep happens within a round. Their order is that of the product: what is staged may be
 * committed for half of the age of orphans, and versions of the metadata stay for longer than both.
 */
export const LIMITS: readonly Omit<Place, 'step'>[] = [
  {
    file: COMMIT,
    text: 'const confirm = () => guard(base.metadata)',
    instead: `const confirm = async () => { await guard(base.metadata); ${IF_APPENDS} globalThis.appendKey = versionKey(location, version) }`,
  },
  { file: UPKEEP, text: DAY, instead: DAY.replace('86_400_000', '1_500') },
  { file: UPKEEP, text: 'const LOG_STARTS_MS = 10 * 60_000', instead: 'const LOG_STARTS_MS = 500' },
  { file: UPKEEP, text: 'const EXPIRY_MS = 10 * 60_000', instead: 'const EXPIRY_MS = 500' },
  { file: EXPIRY, text: 'export const MOST_SNAPSHOTS = 200', instead: 'export const MOST_SNAPSHOTS = 12' },
  {
    file: 'src/tier/iceberg/new-table.ts',
    text: "'history.expire.max-snapshot-age-ms': String(DAY_MS)",
    instead: "'history.expire.max-snapshot-age-ms': '3000'",
  },
  {
    file: 'src/tier/iceberg/new-table.ts',
    text: "'history.expire.min-snapshots-to-keep': '10'",
    instead: "'history.expire.min-snapshots-to-keep': '3'",
  },
  {
    file: 'src/tier/iceberg/new-table.ts',
    text: 'export const LOGGED_VERSIONS = 100',
    instead: 'export const LOGGED_VERSIONS = 8',
  },
  {
    file: SWEEP,
    text: 'export const ORPHAN_AGE_MS = 24 * 3_600_000',
    instead: `export const ORPHAN_AGE_MS = ${ORPHAN_AGE_MS}`,
  },
  {
    file: ONCE,
    text: 'export const STAGED_FOR_MS = 12 * 3_600_000',
    instead: `export const STAGED_FOR_MS = ${ORPHAN_AGE_MS / 2}`,
  },
  {
    file: OLD,
    text: 'export const VERSION_AGE_MS = 7 * 24 * 3_600_000',
    instead: `export const VERSION_AGE_MS = ${2 * ORPHAN_AGE_MS}`,
  },
  {
    file: 'src/store/embedded/embedded-store.ts',
    text: 'options.checkpointBytes ?? CHECKPOINT_BYTES',
    instead: 'options.checkpointBytes ?? 512 * 1024',
  },
  {
    file: 'src/base/quiet-thread.ts',
    text: 'setPriority(thread, constants.priority.PRIORITY_LOW)',
    instead: 'setPriority(thread, constants.priority.PRIORITY_NORMAL)',
  },
]
