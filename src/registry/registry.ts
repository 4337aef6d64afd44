// The registry of schemas: each verb once, with values in and out. It knows no HTTP: the face of the HTTP port and the
// verbs of operators call it. A refusal is a value (refusals.ts); failures of the store are thrown.

import type { Clock } from '../base/clock.ts'
import { JudgedSubjects } from './judged-subjects.ts'
import { ReadWatch } from './read-watch.ts'
import { RecordParts } from './records/record-parts.ts'
import { countRefusal, type RegistryMetrics, sampleState, sampleWork, workObserver } from './registry-metrics.ts'
import type { StateRooms } from './state/rooms.ts'
import { RegistryState, type StateBounds } from './state/state.ts'
import type { Level } from './state/subject.ts'
import * as check from './verbs/check.ts'
import * as configs from './verbs/configs.ts'
import * as deleting from './verbs/delete.ts'
import * as explaining from './verbs/explain.ts'
import * as lists from './verbs/lists.ts'
import * as lookingUp from './verbs/look-up.ts'
import { register } from './verbs/register.ts'
import { inTurn, type VerbRooms, type VerbWork } from './verbs/rooms.ts'
import * as surveys from './verbs/survey.ts'
import { SchemaWork } from './work/schema-work.ts'
import type { Line } from './work/turns.ts'

export interface RegistryRooms extends StateRooms {
  readonly bounds?: StateBounds
  readonly metrics?: RegistryMetrics
  /** The level of subjects while neither they nor the registry have one; BACKWARD by default. */
  readonly defaultLevel?: Level | undefined
  /** The threads that parse and compare. By default they have the formats of this program. */
  readonly work?: VerbWork & Pick<SchemaWork, 'close'>
}

/** The verb without its rooms. */
type Bound<Verb> = Verb extends (rooms: VerbRooms, ...args: infer Args) => infer Answer
  ? (...args: Args) => Answer
  : never

const VERBS = Object.freeze({
  register,
  lookUp: lookingUp.lookUp,
  byId: lookingUp.byId,
  byGuid: lookingUp.byGuid,
  idsOfGuid: lookingUp.idsOfGuid,
  byVersion: lookingUp.byVersion,
  byMetadata: lookingUp.byMetadata,
  formatted: lookingUp.formatted,
  subjects: lists.subjects,
  versions: lists.versions,
  versionsOfId: lists.versionsOfId,
  subjectsOfId: lists.subjectsOfId,
  formerSubjectsOfId: lists.formerSubjectsOfId,
  referencedBy: lists.referencedBy,
  schemas: lists.schemas,
  deleteVersion: deleting.deleteVersion,
  deleteSubject: deleting.deleteSubject,
  checkVersion: check.checkVersion,
  checkSubject: check.checkSubject,
  getConfig: configs.getConfig,
  putConfig: configs.putConfig,
  repeatLevel: configs.repeatLevel,
  deleteConfig: configs.deleteConfig,
  getMode: configs.getMode,
  putMode: configs.putMode,
  deleteMode: configs.deleteMode,
  surveyAll: surveys.surveyAll,
  surveyOne: surveys.surveyOne,
  surveyGlobal: surveys.surveyGlobal,
  referrersTo: surveys.referrersTo,
  typeOfSchema: surveys.typeOfSchema,
  explain: explaining.explain,
  compareVersions: explaining.compareVersions,
})

/** The verbs that parse or compare schemas in threads, and the line in which they wait for one. */
const LINES: Readonly<Partial<Record<keyof typeof VERBS, Line>>> = Object.freeze({
  register: 'registrations',
  lookUp: 'checks',
  formatted: 'checks',
  checkVersion: 'checks',
  checkSubject: 'checks',
  explain: 'checks',
  compareVersions: 'checks',
})

/** They write, or may write: a caller that left them would not know whether they have. */
const WRITES: ReadonlySet<string> = new Set<keyof typeof VERBS>([
  'register',
  'deleteVersion',
  'deleteSubject',
  'putConfig',
  'repeatLevel',
  'deleteConfig',
  'putMode',
  'deleteMode',
])

type Verbs = { readonly [Name in keyof typeof VERBS]: Bound<(typeof VERBS)[Name]> }

export interface Registry extends Verbs {
  /** For the judge of produced records. */
  readonly judged: JudgedSubjects
  /** Keys and values as text. */
  readonly records: RecordParts
  /**
   * Returns the registry for a user, or for an address whose user is not known. Work on schemas waits for the turns of
   * this caller, and not for all work of others.
   */
  of(caller: string): Registry
  /** Resolves with the highest id that the store has given out. */
  maxId(): Promise<number>
  /**
   * Resolves or rejects as the work does, for what a request needs beside the registry. Rejects with StoreUnavailable
   * if the store is silent meanwhile; then the work goes on.
   */
  promptly<T>(work: Promise<T>): Promise<T>
  /** Ends the threads and stops following other brokers. */
  close(): Promise<void>
}

/** Opens the registry. It reads nothing before it is needed. */
export function openRegistry({ bounds, work, metrics, defaultLevel = 'BACKWARD', ...given }: RegistryRooms): Registry {
  const watch = new ReadWatch(given.clock)
  // A store of one broker is never silent.
  const rooms = given.isShared ? { ...given, store: watch.over(given.store) } : given
  const promptly = <T>(work: Promise<T>) => (given.isShared ? watch.promptly(work) : work)
  const state = new RegistryState(rooms, bounds)
  const threads = work ?? openWork(rooms.clock, metrics)
  if (metrics !== undefined) sampleState(metrics, state)
  const verbRooms: VerbRooms = { state, work: threads, defaultLevel }
  const records = new RecordParts(verbRooms, rooms.clock)
  const bind =
    (name: string, its: VerbRooms) =>
    async (...args: unknown[]) => {
      const answering = (VERBS[name as keyof Verbs] as (...all: unknown[]) => Promise<unknown>)(its, ...args)
      const answer = await (WRITES.has(name) ? answering : promptly(answering))
      if (metrics !== undefined) countRefusal(metrics, answer)
      return answer
    }
  const verbs = Object.fromEntries(Object.keys(VERBS).map(name => [name, bind(name, verbRooms)])) as Verbs
  const turning = Object.fromEntries(
    Object.entries(LINES).map(([name, line]) => [
      name,
      function (this: { readonly caller: string }, ...args: unknown[]) {
        return bind(name, inTurn(verbRooms, { caller: this.caller, line }))(...args)
      },
    ]),
  )
  const registry: Registry = {
    ...verbs,
    judged: new JudgedSubjects(verbRooms),
    records,
    // Every request makes one, so it has its caller and nothing else of its own.
    of: caller => Object.assign(Object.create(inTurns) as Registry, { caller }),
    maxId: () => promptly(state.counter.last()),
    promptly,
    async close() {
      state.close()
      await Promise.all([threads.close(), records.close()])
    },
  }
  const inTurns: object = Object.assign(Object.create(registry), turning)
  return registry
}

function openWork(clock: Clock, metrics: RegistryMetrics | undefined): SchemaWork {
  if (metrics === undefined) return new SchemaWork({ clock })
  const work = new SchemaWork({ clock, observe: workObserver(metrics) })
  sampleWork(metrics, work)
  return work
}
