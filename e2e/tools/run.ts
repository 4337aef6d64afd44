// `npm run compare-tools`: runs each everyday verb of Kafka's command-line tools, prints whether its output against
// Ketch equals that against Apache Kafka, and writes the result to docs/compatibility.md. It fails if differences.ts
// does not explain a difference.

import { plain } from '../../scripts/markdown.ts'
import { KAFKA_VERSION } from '../../testing/apache-kafka.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import { type Comparison, compareTools } from './compare.ts'
import { differences } from './differences.ts'
import { toolsAbsence } from './tools.ts'

const absence = toolsAbsence()
if (absence !== null) {
  console.error(absence)
  process.exit(1)
}
const ends: (() => Promise<void>)[] = []
const comparisons: Comparison[] = []
try {
  for await (const comparison of compareTools({ after: end => void ends.push(end) })) {
    comparisons.push(comparison)
    const { command, known, unexplained } = comparison
    const verdict = unexplained.length > 0 ? 'DIFFERS' : known.length > 0 ? 'explained' : 'same'
    console.log(`${verdict.padEnd(9)} ${command}`)
    for (const line of unexplained) console.log(`            ${line}`)
  }
} finally {
  for (const end of ends.reverse()) await end()
}
keep()
const gone = differences.filter(difference => !comparisons.some(({ known }) => known.includes(difference)))
for (const { why } of gone) console.log(`no longer seen; take it out of differences.ts: ${why}`)
process.exit(gone.length === 0 && comparisons.every(({ unexplained }) => unexplained.length === 0) ? 0 : 1)

function keep(): void {
  const isSame = ({ known, unexplained }: Comparison) => known.length === 0 && unexplained.length === 0
  const isExplained = ({ known, unexplained }: Comparison) => known.length > 0 && unexplained.length === 0
  const byTool = [...Map.groupBy(comparisons, ({ tool }) => tool)].sort(([a], [b]) => (a < b ? -1 : 1))
  const count = (of: readonly Comparison[], is: (comparison: Comparison) => boolean) => String(of.filter(is).length)
  const shown = (commands: readonly Comparison[]) => commands.map(({ command }) => `\`${command}\``).join('\n')
  keepFindings('tools', {
    title: "Kafka's command-line tools",
    order: 2,
    command: 'npm run compare-tools',
    text: [
      `${comparisons.length} everyday verbs of the tools of Apache Kafka ${KAFKA_VERSION} were run against Ketch and against Apache Kafka ${KAFKA_VERSION} (KRaft, one node), and their output and exit status were compared line by line; ids, times, addresses, folders and the widths of columns are not compared. ${count(comparisons, isSame)} print the same, ${count(comparisons, isExplained)} differ for a known reason, ${count(comparisons, ({ unexplained }) => unexplained.length > 0)} differ without one.`,
    ],
    tables: [
      {
        caption: null,
        head: ['tool', 'verbs', 'the same', 'explained', 'not explained'],
        rows: byTool.map(([tool, its]) => [
          `\`${tool}\``,
          String(its.length),
          count(its, isSame),
          count(its, isExplained),
          count(its, ({ unexplained }) => unexplained.length > 0),
        ]),
      },
      {
        caption: 'Why they differ:',
        head: ['why', 'verbs'],
        rows: differences.map(difference => [
          difference.why,
          shown(comparisons.filter(({ known }) => known.includes(difference))),
        ]),
      },
      {
        caption: 'Differences without an explanation:',
        head: ['verb', 'lines'],
        rows: comparisons
          .filter(({ unexplained }) => unexplained.length > 0)
          .map(({ command, unexplained }) => [
            `\`${command}\``,
            unexplained
              .slice(0, 6)
              .map(line => plain(line))
              .join('\n'),
          ]),
      },
    ].filter(({ rows }) => rows.length > 0),
  })
}
