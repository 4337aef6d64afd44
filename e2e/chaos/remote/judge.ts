// Judges the table of a topic after a round: as an outsider (testing/iceberg-audit.ts), and by its records. Every
// record of the archived ranges must stand in the table exactly once, at its offset.

import { readRecords } from '../../../src/protocol/records.ts'
import { type Archived, readArchived } from '../../../src/tier/iceberg/ranges.ts'
import { loadTable } from '../../../src/tier/iceberg/table.ts'
import { tableLocation } from '../../../src/tier/iceberg/table-files.ts'
import type { Objects } from '../../../src/tier/objects/objects.ts'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import { readTable } from '../../../testing/offloading.ts'

/** By partition, the value at each offset that was acknowledged or read. */
export type Known = ReadonlyMap<number, ReadonlyMap<number, number>>

export interface JudgedTopic {
  readonly name: string
  readonly id: string
  readonly known: Known
  /** The end of each partition that is wholly in the table; null if retention and producers may go on. */
  readonly ends: ReadonlyMap<number, number> | null
}

export interface Verdict {
  /** One sentence for each fault. */
  readonly faults: readonly string[]
  /** Keys of objects that no snapshot reaches. */
  readonly unreached: readonly string[]
  readonly rows: number
  readonly versions: number
  readonly files: number
}

/** Faults of a kind are named up to this number. */
const MOST = 5

/** Inspects and reads the newest version of a table. Brokers may go on with it: the caller judges again then. */
export async function judgeTable(objects: Objects, topic: JudgedTopic): Promise<Verdict> {
  const location = tableLocation('default', topic.name, topic.id)
  const table = await loadTable(objects, location)
  if (table === null) {
    const left: string[] = []
    for await (const { key } of objects.list(`${location}/`)) left.push(key)
    // Retention may have passed everything before anything was offloaded.
    const faults = topic.ends === null && left.length === 0 ? [] : [`${location}: no table`]
    return { faults, unreached: [], rows: 0, versions: 0, files: 0 }
  }
  const audit = await auditTable(objects, location, { nowMs: 0, graceMs: 0 })
  const faults = [...audit.findings]
  const archived = readArchived(table.metadata.properties)
  const found = new Map<number, Map<number, number>>()
  let rows = 0
  for (const [partition, batches] of await readTable(table)) {
    const values = new Map<number, number>()
    found.set(partition, values)
    for (const batch of batches)
      for (const { offset, value } of await readRecords(batch)) {
        rows++
        if (values.has(offset)) faults.push(`${partition}: offset ${offset} stands in the table twice`)
        values.set(offset, Number(value))
      }
  }
  faults.push(...differences(topic, archived, found))
  const { unreached, versions, files } = audit
  return { faults: faults.slice(0, 4 * MOST), unreached, rows, versions, files }
}

function differences(
  { name, known, ends }: JudgedTopic,
  { ranges, logStarts }: Archived,
  found: ReadonlyMap<number, ReadonlyMap<number, number>>,
): readonly string[] {
  const faults: string[] = []
  for (const [partition, values] of known) {
    const own = ranges.get(partition) ?? []
    const logStart = logStarts.get(partition) ?? 0
    const isArchived = (offset: number) => own.some(([base, next]) => base <= offset && offset < next)
    const inTable = found.get(partition) ?? new Map<number, number>()
    const missing = [...values].filter(([offset]) => isArchived(offset) && !inTable.has(offset))
    const wrong = [...values].filter(([offset, value]) => inTable.has(offset) && inTable.get(offset) !== value)
    const outside = [...inTable.keys()].filter(offset => offset >= logStart && !isArchived(offset))
    const tell = (what: string, of: readonly unknown[]) => {
      if (of.length > 0) faults.push(`${name}-${partition}: ${of.length} ${what}: ${of.slice(0, MOST).join('; ')}`)
    }
    tell('records are in the ranges and not in the table', missing)
    tell('records have another value in the table', wrong)
    tell('records of the table are outside of the ranges', outside)
    if (ends === null) continue
    const end = ends.get(partition) ?? 0
    const isWhole = end === 0 || (own.length === 1 && own[0]![0] === 0 && own[0]![1] === end)
    if (!isWhole) faults.push(`${name}-${partition}: the table has ${JSON.stringify(own)}, expected [0, ${end})`)
    tell(
      'records were never read',
      [...inTable.keys()].filter(offset => !values.has(offset)),
    )
  }
  return faults
}
