// The page Schemas: the subjects of the registry, the topics whose records they judge, and the schema of an id.

import { SCHEMA_TABS } from '../../../src/api/pages.ts'
import type { SchemaOverview } from '../../../src/api/schemas.ts'
import { useRead } from '../../api/queries.ts'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Skeleton } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Time } from '../../parts/time.tsx'
import { useHere } from '../../shell/address.tsx'
import { useCapability } from '../../shell/capabilities.ts'
import { counted } from '../../text/format.ts'
import { JudgedTopics } from './judged-topics.tsx'
import { RegistryGate } from './registry-gate.tsx'
import { RegistryVerbs } from './registry-verbs.tsx'
import { SubjectList } from './subject-list.tsx'

const SchemaById = lazyPart(async () => (await import('./schema-by-id.tsx')).SchemaById, <Skeleton rows={3} />)

type Tab = (typeof SCHEMA_TABS)[number]

const LABELS: Readonly<Record<Tab, string>> = { subjects: 'Subjects', topics: 'Judged topics', ids: 'Find by id' }
const BODIES: Readonly<Record<Tab, () => React.ReactNode>> = {
  subjects: () => <SubjectList />,
  topics: () => <JudgedTopics />,
  ids: () => <SchemaById />,
}

export function Schemas() {
  const { search } = useHere('schemas')
  const isOn = useCapability('schema-registry')?.state === 'on'
  const read = useRead('describe schema registry', {}, { isWanted: isOn })
  const { data, problem, atMs } = read
  return (
    <>
      <PageHead
        title="Schemas"
        documentTitle={`Schemas · ${LABELS[search.tab]}`}
        actions={isOn && <RegistryVerbs registry={data} />}
      >
        <span role="status">
          {data !== undefined ? (
            <>
              <Sentence of={data} />
              {problem !== null && (
                <span data-stale={problem.code} className="text-warn">
                  {' '}
                  As of <Time ms={atMs} isShort />.
                </span>
              )}
            </>
          ) : problem === null ? (
            '\u00a0'
          ) : (
            `Level and mode are not known. ${problem.title}`
          )}
        </span>
      </PageHead>
      <Tabs
        of="Schemas"
        tabs={SCHEMA_TABS.map(tab => ({
          label: LABELS[tab],
          isCurrent: tab === search.tab,
          page: 'schemas' as const,
          search: { tab },
        }))}
      />
      <RegistryGate>{BODIES[search.tab]()}</RegistryGate>
    </>
  )
}

function Sentence({ of }: { readonly of: SchemaOverview }) {
  const { subjects, versions, highestId, level, mode, judgedTopics } = of
  const parts = [
    counted(subjects, 'subject'),
    counted(versions, 'version'),
    ...(highestId === 0 ? [] : [`ids up to ${highestId}`]),
    `global level ${level}`,
    ...(mode === 'READWRITE' ? [] : [`global mode ${mode}`]),
    judgedTopics === 0 ? 'no topic is judged' : `${counted(judgedTopics, 'topic')} judged`,
  ]
  return <span className="tabular-nums">{parts.join(' · ')}</span>
}
