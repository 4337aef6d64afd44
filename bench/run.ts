// `npm run bench`: runs the benchmarks that the command line names, or all of them.
//
//   npm run bench -- produce fetch --rounds 5 --seconds 3

import { parseArgs } from 'node:util'
import { acls } from './acls.ts'
import { adminHttp } from './admin-http.ts'
import { agentToolsBeside } from './agent-tools-beside.ts'
import { beside } from './beside.ts'
import { catchUp } from './catch-up.ts'
import { cleaner } from './cleaner.ts'
import { cleanerMemory } from './cleaner-memory.ts'
import { cleaningBeside } from './cleaning-beside.ts'
import { compression } from './compression.ts'
import { consoleHeap } from './console/heap.ts'
import { consoleLoad } from './console/load.ts'
import { consolePages } from './console/pages.ts'
import { consoleRecords } from './console/records.ts'
import { fetch } from './fetch.ts'
import { groups } from './groups.ts'
import { ask, type Question } from './harness.ts'
import { hostileRecords } from './hostile-records.ts'
import { kafkaConsume, kafkaGenerator, kafkaLatency, kafkaProduce, kafkaStartup } from './kafka.ts'
import { offload } from './offload.ts'
import { offloadBeside } from './offload-beside.ts'
import { produce } from './produce.ts'
import { redisAppend } from './redis-append.ts'
import { redisBroker } from './redis-broker.ts'
import { redisClusterScale } from './redis-cluster-scale.ts'
import { redisFetch } from './redis-fetch.ts'
import { redisLatency } from './redis-latency.ts'
import { registryApicurio } from './registry-apicurio.ts'
import { registryScale } from './registry-scale.ts'
import { remoteBounds } from './remote-bounds.ts'
import { remoteScale } from './remote-scale.ts'
import { retention } from './retention.ts'
import { scale } from './scale.ts'
import { scrape } from './scrape.ts'
import { flood, reconnect } from './security.ts'
import { slowReaders } from './slow-readers.ts'
import { startup } from './startup.ts'
import { tls } from './tls.ts'
import { verdicts } from './verdicts.ts'
import { waiting } from './waiting.ts'
import { workerScale } from './worker-scale.ts'

const QUESTIONS: readonly Question[] = [
  produce,
  verdicts,
  hostileRecords,
  fetch,
  beside,
  retention,
  cleaner,
  cleaningBeside,
  cleanerMemory,
  workerScale,
  offload,
  offloadBeside,
  catchUp,
  remoteBounds,
  remoteScale,
  redisAppend,
  redisBroker,
  redisFetch,
  redisLatency,
  redisClusterScale,
  compression,
  startup,
  registryScale,
  registryApicurio,
  groups,
  scale,
  waiting,
  slowReaders,
  scrape,
  tls,
  acls,
  flood,
  reconnect,
  adminHttp,
  agentToolsBeside,
  consolePages,
  consoleRecords,
  consoleLoad,
  consoleHeap,
  kafkaProduce,
  kafkaLatency,
  kafkaConsume,
  kafkaGenerator,
  kafkaStartup,
]

const USAGE = `npm run bench -- [questions] [--rounds n] [--seconds n]; the questions are ${QUESTIONS.map(({ name }) => name).join(', ')}`

process.exitCode = await run()

/** Resolves with 0 if every floor and ceiling was met, 1 if not, and 2 if the arguments are wrong. */
async function run(): Promise<number> {
  let asked: readonly Question[]
  let amounts: { readonly rounds: number; readonly seconds: number }
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '3' } },
    })
    asked = positionals.length > 0 ? positionals.map(questionOf) : QUESTIONS
    amounts = { rounds: amount('rounds', values.rounds), seconds: amount('seconds', values.seconds) }
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`)
    return 2
  }
  let isMet = true
  for (const question of asked) isMet = (await ask(question, amounts)) && isMet
  return isMet ? 0 : 1
}

function questionOf(name: string): Question {
  const question = QUESTIONS.find(one => one.name === name)
  if (question === undefined) throw new Error(`no question is called ${name}`)
  return question
}

function amount(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name}: got ${text}, takes an integer from 1`)
  return value
}
