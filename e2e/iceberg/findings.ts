// Collects which engine passed which check. KETCH_KEEP=1 stores the outcome for docs/compatibility.md.

import { keepFindings } from '../../testing/compatibility.ts'
import { LONG_PACKAGES, PACKAGES, SPARK_RUNTIME, TRINO } from './programs.ts'

export class EngineFindings {
  readonly #outcomes = new Map<string, { passed: number; failed: string[] }>()

  /** Runs a check of an engine, and rejects as it does. */
  async note(engine: string, what: string, check: () => Promise<void>): Promise<void> {
    const outcome = this.#outcomes.get(engine) ?? { passed: 0, failed: [] }
    this.#outcomes.set(engine, outcome)
    outcome.failed.push(what)
    await check()
    outcome.failed.pop()
    outcome.passed++
  }

  /** `place` continues "tables in". */
  keep(name: string, place: string, file: string): void {
    if (process.env.KETCH_KEEP !== '1') return
    const isWell = [...this.#outcomes.values()].filter(({ failed }) => failed.length === 0).length
    keepFindings(name, {
      title: `SQL engines, tables in ${place}`,
      order: 90,
      command: `KETCH_KEEP=1 KETCH_LONG=1 node --test e2e/iceberg/${file}`,
      text: [
        `Each engine finds the tables in ${place} through the catalog of the broker, and counts, bounds of offsets, and checksums of keys, values and headers are those of the records that a Kafka consumer read. ${isWell} of ${this.#outcomes.size} engines passed.`,
        `Versions: ${[...PACKAGES, ...LONG_PACKAGES, SPARK_RUNTIME, TRINO].map(each => `\`${each}\``).join(', ')}.`,
      ],
      tables: [
        {
          caption: null,
          head: ['engine', 'checks passed', 'checks failed'],
          rows: [...this.#outcomes].map(([engine, { passed, failed }]) => [engine, String(passed), failed.join(', ')]),
        },
      ],
    })
  }
}
