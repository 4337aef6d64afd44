// The columns of the list of subjects.

import type { SchemaSubject } from '../../../src/api/schemas.ts'
import type { Column } from '../../parts/data-table.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { count, UNKNOWN } from '../../text/format.ts'
import { TYPE_NAMES } from '../../text/schema-formats.ts'
import { DeletedMark, LevelMark, ModeMark, Refused } from './marks.tsx'
import { refusedOf } from './words.ts'

const isPhoneless = { isOnPhone: false }
/** The number of topics that a row names. */
const NAMED_TOPICS = 2

export const SUBJECT_COLUMNS: readonly Column<SchemaSubject>[] = [
  {
    id: 'subject',
    head: 'Subject',
    sort: 'subject',
    isFixed: true,
    cell: ({ subject, deleted }) => (
      // The link itself ends after three lines: its hidden part would lie over the links of the rows below.
      <div className="sm:min-w-36" title={subject}>
        <PageLink
          page="subject"
          params={{ subject }}
          className="line-clamp-3 w-fit text-accent underline-offset-2 hover:underline"
        >
          <VisibleText text={subject} />
        </PageLink>
        {deleted && <DeletedMark />}
      </div>
    ),
  },
  {
    id: 'type',
    head: 'Type',
    cell: ({ type }) =>
      type === null ? (
        <None why="The subject has no version." />
      ) : (
        <span className="whitespace-nowrap">{TYPE_NAMES[type]}</span>
      ),
  },
  {
    id: 'version',
    head: 'Version',
    unit: 'latest',
    sort: 'latestVersion',
    isNumber: true,
    cell: ({ latestVersion }) => latestVersion ?? <None />,
  },
  {
    id: 'id',
    head: 'Id',
    unit: 'latest',
    sort: 'latestId',
    isNumber: true,
    ...isPhoneless,
    cell: ({ latestId }) => latestId ?? <None />,
  },
  {
    id: 'versions',
    head: 'Versions',
    sort: 'versionCount',
    isNumber: true,
    ...isPhoneless,
    cell: ({ versionCount, deletedVersionCount }) => (
      <span title={deletedVersionCount === 0 ? undefined : `${count(deletedVersionCount)} more are deleted.`}>
        {count(versionCount)}
        {deletedVersionCount > 0 && <span className="text-muted"> + {count(deletedVersionCount)}</span>}
      </span>
    ),
  },
  {
    id: 'level',
    head: 'Level',
    ...isPhoneless,
    cell: ({ level, ownLevel }) => <LevelMark level={level} isOwn={ownLevel !== null} />,
  },
  {
    id: 'mode',
    head: 'Mode',
    ...isPhoneless,
    cell: ({ mode, ownMode }) => <ModeMark mode={mode} isOwn={ownMode !== null} />,
  },
  { id: 'topics', head: 'Judged topics', ...isPhoneless, cell: ({ topics }) => <Topics of={topics} /> },
  {
    id: 'refused',
    head: 'Refused',
    unit: 'records',
    isNumber: true,
    ...isPhoneless,
    cell: ({ topics }) =>
      topics.length === 0 ? <None why="It judges no topic." /> : <Refused of={refusedOf(topics)} />,
  },
]

function None({ why = 'It has no version that is not deleted.' }: { readonly why?: string }) {
  return (
    <span className="text-muted" title={why}>
      {UNKNOWN}
    </span>
  )
}

function Topics({ of }: { readonly of: SchemaSubject['topics'] }) {
  if (of.length === 0) return <None why="It judges no topic." />
  const rest = of.length - NAMED_TOPICS
  return (
    <span>
      {of.slice(0, NAMED_TOPICS).map(({ topic, part }, at) => (
        <span key={`${topic} ${part}`}>
          {at > 0 && ', '}
          <PageLink
            page="topic"
            params={{ topic }}
            search={{ tab: 'schemas' }}
            className="text-text underline-offset-2 hover:underline"
          >
            {topic}
          </PageLink>
        </span>
      ))}
      {rest > 0 && <span className="text-muted"> and {rest} more</span>}
    </span>
  )
}
