// Switches one safeguard of the offload off in a broker that a test starts, so that a round shows why the safeguard is
// needed. The product has no such switch. Node loads this file before the broker (`--import without.ts?ranges`), and
// this file changes the text of the broker's modules. The broker ends unless each text occurs exactly once.

import { type Change, changeSource } from '../change-source.ts'

const PIPELINE = 'src/tier/offload/pipeline.ts'
const PLAN = 'src/tier/offload/plan-jobs.ts'

/** The name of each safeguard, and the changes that switch it off. The comments say how the broker behaves then. */
const SAFEGUARDS: Readonly<Record<string, readonly Change[]>> = {
  /** The states of the jobs alone say which segments are in the table, and the ranges do not. */
  ranges: [
    {
      file: PLAN,
      text: 'covers(archived, partition, [base, next])',
      instead: '[archived, partition, base, next].length < 0 && covers(archived, partition, [base, next])',
    },
    {
      file: PLAN,
      text: "if (job === undefined || job.status === 'done') {",
      instead: "if (job?.status === 'done') continue\n    if (job === undefined) {",
    },
    { file: PIPELINE, text: 'const missing = dropCovered(jobs)', instead: 'const missing = jobs' },
    {
      file: PIPELINE,
      text: 'const range = [jobs[0]!.base, jobs.at(-1)!.next] as const',
      instead: `for (const job of jobs) {
      const own = addable(next, partition, [job.base, job.next])
      if (own !== null) next = addRange(next, partition, own)
    }
    if (partition >= 0) continue
    const range = [jobs[0]!.base, jobs.at(-1)!.next] as const`,
    },
  ],
  /** A version of the metadata replaces one that exists. The holder does not ask whether the place allows that. */
  'create-only': [
    {
      file: 'src/tier/objects/staged-file.ts',
      text: 'await link(path, target)',
      instead: 'await rename(path, target)',
    },
    { file: 'src/tier/objects/s3.ts', text: "IfNoneMatch: '*', ", instead: '' },
    {
      file: 'src/tier/remote/topic-table.ts',
      text: 'const isKept = await probeCreateOnly(objects, random)',
      instead: 'const isKept = probeCreateOnly !== null',
    },
  ],
  /** A version that exists after an unknown outcome counts as another writer's, also if it has the same bytes. */
  unknown: [
    {
      file: 'src/tier/iceberg/put-once.ts',
      text: "return Buffer.from(found).equals(Buffer.from(bytes)) ? { kind: 'ours' } : { kind: 'lost', found }",
      instead: "return { kind: 'lost', found }",
    },
  ],
}

const name = new URL(import.meta.url).search.slice(1)
const changes = SAFEGUARDS[name]
if (changes === undefined) throw new Error(`no safeguard "${name}"; there are ${Object.keys(SAFEGUARDS).join(', ')}`)

changeSource(changes, 'without.ts')
