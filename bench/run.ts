// `npm run bench`: asks the questions named on the command line, or all of them.
//
//   npm run bench -- produce fetch --rounds 5 --seconds 3

import { parseArgs } from 'node:util'
import { adminHttp } from './admin-http.ts'
import { compression } from './compression.ts'
import { fetch } from './fetch.ts'
import { groups } from './groups.ts'
import { ask, type Question } from './harness.ts'
import { kafkaConsume, kafkaGenerator, kafkaLatency, kafkaProduce, kafkaStartup } from './kafka.ts'
import { produce } from './produce.ts'
import { redisAppend } from './redis-append.ts'
import { redisBroker } from './redis-broker.ts'
import { redisClusterScale } from './redis-cluster-scale.ts'
import { redisFetch } from './redis-fetch.ts'
import { redisLatency } from './redis-latency.ts'
import { retention } from './retention.ts'
import { scale } from './scale.ts'
import { scrape } from './scrape.ts'
import { startup } from './startup.ts'
import { waiting } from './waiting.ts'

const QUESTIONS: readonly Question[] = [
  produce,
  fetch,
  retention,
  redisAppend,
  redisBroker,
  redisFetch,
  redisLatency,
  redisClusterScale,
  compression,
  startup,
  groups,
  scale,
  waiting,
  scrape,
  adminHttp,
  kafkaProduce,
  kafkaLatency,
  kafkaConsume,
  kafkaGenerator,
  kafkaStartup,
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '3' } },
})
const names = positionals.length > 0 ? positionals : QUESTIONS.map(question => question.name)
let isMet = true
for (const name of names) {
  const question = QUESTIONS.find(one => one.name === name)
  if (question === undefined)
    throw new Error(`no question is called ${name}; there are ${QUESTIONS.map(q => q.name).join(', ')}`)
  isMet = (await ask(question, { rounds: Number(values.rounds), seconds: Number(values.seconds) })) && isMet
}
process.exitCode = isMet ? 0 : 1
