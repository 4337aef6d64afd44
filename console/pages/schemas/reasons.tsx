// The reasons why one schema cannot read all that another one writes, each with its place in the schema.

import { placeInWords } from '../../../src/api/schema-words.ts'
import type { SchemaReason } from '../../../src/api/schemas.ts'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { sentenceOf } from './words.ts'

/** The broker names no more. */
const MOST_REASONS = 100

export function Reasons({ of, name }: { readonly of: readonly SchemaReason[]; readonly name: string }) {
  return (
    <>
      <DataTable
        name={name}
        rows={of.map((reason, at) => ({ ...reason, at }))}
        keyOf={({ at }) => String(at)}
        columns={COLUMNS}
      />
      {of.length === MOST_REASONS && <p className="mt-1 text-muted">There may be more reasons.</p>}
    </>
  )
}

const COLUMNS: readonly Column<SchemaReason>[] = [
  {
    id: 'path',
    head: 'Place',
    isFixed: true,
    cell: ({ path }) => {
      const place = placeInWords(path)
      return place === path ? (
        <code className="font-mono text-dense wrap-anywhere">
          <VisibleText text={path} />
        </code>
      ) : (
        place
      )
    },
  },
  {
    id: 'description',
    head: 'Reason',
    cell: ({ description, kind }) => (
      <span className="wrap-anywhere">
        <VisibleText text={sentenceOf(description)} />
        <span className="block font-mono text-badge text-muted">{kind}</span>
      </span>
    ),
  },
]
