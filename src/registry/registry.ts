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
import type { VerbRooms } from './verbs/rooms.ts'
import * as surveys from './verbs/survey.ts'
import { SchemaWork } from './work/schema-work.ts'

export interface RegistryRooms extends StateRooms {
  readonly bounds?: StateBounds
  readonly metrics?: RegistryMetrics
  /** The level of subjects while neither they nor the registry have one; BACKWARD by default. */
  readonly defaultLevel?: Level | undefined
  /** The threads that parse and compare. By default they have the formats of this program. */
  readonly work?: VerbRooms['work'] & Pick<SchemaWork, 'close'>
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
  const bound = Object.entries(VERBS).map(([name, verb]) => [
    name,
    async (...args: unknown[]) => {
      const answering = (verb as (...all: unknown[]) => Promise<unknown>)(verbRooms, ...args)
      const answer = await (WRITES.has(name) ? answering : promptly(answering))
      if (metrics !== undefined) countRefusal(metrics, answer)
      return answer
    },
  ])
  return {
    ...(Object.fromEntries(bound) as Verbs),
    judged: new JudgedSubjects(verbRooms),
    records,
    maxId: () => promptly(state.counter.last()),
    promptly,
    async close() {
      state.close()
      await Promise.all([threads.close(), records.close()])
    },
  }
}

function openWork(clock: Clock, metrics: RegistryMetrics | undefined): SchemaWork {
  if (metrics === undefined) return new SchemaWork({ clock })
  const work = new SchemaWork({ clock, observe: workObserver(metrics) })
  sampleWork(metrics, work)
  return work
}
