// Every engine finds in the tables what a Kafka client reads, and finds the tables through the catalog alone.
// ClickHouse, pyiceberg and DuckDB run in CI; KETCH_LONG=1 adds Spark and Trino, which take minutes.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isLong } from '../../testing/at-length.ts'
import { openBrokerWorld } from './broker-world.ts'
import { ENGINES, type Session } from './engines.ts'
import { EngineFindings } from './findings.ts'
import { openFolderWorld } from './folder-world.ts'
import { type Asked, type SeenRecord, sumsOf } from './sums.ts'
import type { World } from './world.ts'

/** The sums of the records that an engine was asked for. */
function expected({ topics }: World, { topic, from = 0, until = Number.MAX_SAFE_INTEGER, isCommitted = false }: Asked) {
  const isSeen = ({ offset, isAborted }: SeenRecord) =>
    offset >= from && offset < until && !(isCommitted && isAborted === true)
  return sumsOf(topics.get(topic)!.filter(isSeen))
}

const chosen = ENGINES.filter(engine => isLong || !engine.isLong)

const findings = new EngineFindings()
after(() => findings.keep('sql-engines', 'a folder', 'engines.all.test.ts'))

const WORLDS = { 'that a broker makes': openBrokerWorld, 'with batches of every form': openFolderWorld }

for (const [kind, openWorld] of Object.entries(WORLDS))
  test(`SQL engines read in tables ${kind} what a Kafka client reads`, { timeout: 1_800_000 }, async t => {
    const world = await openWorld(t)
    const sessions = new Map<string, Session>()
    const [topic] = world.topics.keys() as Iterable<string> as [string]
    const each = async (what: string, check: (session: Session, name: string) => Promise<void>) => {
      for (const { name, absence } of chosen)
        await t.test(`${name} ${what}`, { skip: absence }, () =>
          findings.note(name, what, () => check(sessions.get(name)!, name)),
        )
    }
    for (const { name, absence, open } of chosen) if (!absence) sessions.set(name, await open(world, t))

    await each('finds every table, and every record in it once', async (session, name) => {
      assert.deepEqual((await session.tables()).sort(), [...world.topics.keys()].sort())
      const asked: Asked[] = [
        ...[...world.topics.keys()].map((topic): Asked => ({ topic })),
        ...[...world.topics.keys()].map((topic): Asked => ({ topic, isCommitted: true })),
        { topic, from: 13, until: 14 },
        { topic, from: 30, until: 1_050 },
        { topic, from: 1e12 },
      ]
      const found = await session.sums(asked)
      for (const [at, of] of asked.entries())
        assert.deepEqual(found[at], expected(world, of), `${name}: ${JSON.stringify(of)}`)
    })

    for (const [name, { refusedDrop }] of sessions)
      if (refusedDrop !== null)
        await t.test(`${name} cannot drop a table`, async () => {
          const refusal = await refusedDrop(topic)
          assert.match(refusal, /DELETE \/v1|406|read.only|Access Denied|not supported|Ketch alone writes/i)
        })

    const logStart = await world.retain()
    await each('reads every record above the log start after retention and expiry', async (session, name) => {
      const above: Asked = { topic, from: logStart }
      const [cut, all] = await session.sums([above, { topic }])
      assert.deepEqual(cut, expected(world, above), name)
      // The file that the log start is in still has records below it. Those of the file before it are gone.
      const { first } = all!.find(({ partition }) => partition === 0)!
      assert.ok(first > 0 && first < logStart, `${name}: ${first}`)
    })
  })
