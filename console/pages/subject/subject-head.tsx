// The head of the page of a subject: its name, its sentence, its verbs, and the ways to its parts.

import { SUBJECT_TABS } from '../../../src/api/pages.ts'
import type { DescribedSchemaSubject } from '../../../src/api/schemas.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { count, counted } from '../../text/format.ts'
import { TYPE_NAMES } from '../../text/schema-formats.ts'
import { DeletedMark, LevelMark, ModeMark } from '../schemas/marks.tsx'
import { refusedOf } from '../schemas/words.ts'
import { SubjectVerbs } from './subject-verbs.tsx'
import { useSubject } from './use-subject.ts'

export type SubjectPart = (typeof SUBJECT_TABS)[number]

const LABELS: Readonly<Record<SubjectPart, string>> = {
  versions: 'Versions',
  compare: 'Compare',
  references: 'References',
  topics: 'Judged topics',
}

export function SubjectHead({ subject, current }: { readonly subject: string; readonly current: SubjectPart }) {
  const { data, problem } = useSubject(subject)
  const params = { subject }
  return (
    <>
      <PageHead
        title={subject}
        heading={<VisibleText text={subject} />}
        documentTitle={`${subject} · ${LABELS[current]}`}
        beside={<CopyButton value={subject} of="subject name" />}
        actions={data !== undefined && <SubjectVerbs subject={data} />}
      >
        {data !== undefined ? (
          <Sentence of={data} />
        ) : problem === null ? (
          '\u00a0'
        ) : (
          `Level and mode are not known. ${problem.title}`
        )}
      </PageHead>
      <Tabs
        of={subject}
        tabs={SUBJECT_TABS.map(tab => ({
          label: LABELS[tab],
          isCurrent: tab === current,
          page: 'subject' as const,
          params,
          search: { tab },
        }))}
      />
    </>
  )
}

function Sentence({ of }: { readonly of: DescribedSchemaSubject }) {
  const { type, latestVersion, latestId, versionCount, deleted, level, ownLevel, mode, ownMode, topics } = of
  const refused = refusedOf(topics)
  return (
    <span className="flex flex-wrap items-center gap-x-1 tabular-nums">
      {deleted && <DeletedMark />}
      {type !== null && <span>{TYPE_NAMES[type]} ·</span>}
      {latestVersion !== null && (
        <span>
          version {latestVersion}, id {latestId} ·
        </span>
      )}
      {versionCount !== 1 && <span>{versionCount === 0 ? 'no live version' : counted(versionCount, 'version')} ·</span>}
      <span>
        {ownLevel === null && 'global '}level <LevelMark level={level} isOwn={ownLevel !== null} />
      </span>
      {mode !== 'READWRITE' && (
        <span>
          · {ownMode === null && 'global '}mode <ModeMark mode={mode} isOwn={ownMode !== null} />
        </span>
      )}
      {topics.length > 0 && <span>· judges {counted(topics.length, 'topic')}</span>}
      {refused > 0 && <span className="text-danger">· {count(refused)} refused</span>}
    </span>
  )
}
