// The tab Find by id: the schema that a record names by its id, also if it is deleted.

import { useState } from 'react'
import type { SchemaById as Found } from '../../../src/api/schemas.ts'
import { useRead } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { TextField } from '../../parts/field.tsx'
import { Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useHere } from '../../shell/address.tsx'
import { TYPE_NAMES } from '../../text/schema-formats.ts'
import { DeletedMark, SubjectLink } from './marks.tsx'
import { SchemaText } from './schema-text.tsx'

export function SchemaById() {
  const { search, set } = useHere('schemas')
  const [typed, setTyped] = useState(search.id === null ? '' : String(search.id))
  const [shown, setShown] = useState(search.id)
  // Back and links change the address too.
  if (shown !== search.id) {
    setShown(search.id)
    setTyped(search.id === null ? '' : String(search.id))
  }
  const wanted = typed.trim()
  const objection = wanted === '' || /^[1-9][0-9]{0,9}$/.test(wanted) ? undefined : 'An id is a whole number from 1.'
  return (
    <>
      <form
        className="flex max-w-full flex-wrap items-start gap-2"
        onSubmit={event => {
          event.preventDefault()
          if (objection === undefined) set({ id: wanted === '' ? null : Number(wanted) }, { isStep: true })
        }}
      >
        <div className="w-64 max-w-full">
          <TextField
            label="Id of a schema"
            value={typed}
            onChange={setTyped}
            error={objection}
            hint="The number in bytes 1 to 4 of a key or value."
            inputMode="numeric"
            autoComplete="off"
          />
        </div>
        <div className="pt-9">
          <Button type="submit">Show</Button>
        </div>
      </form>
      {search.id !== null && <Result id={search.id} />}
    </>
  )
}

function Result({ id }: { readonly id: number }) {
  const read = useRead('show schema by id', { params: { id } })
  if (read.problem?.status === 404)
    return (
      <Empty title={`No schema has the id ${id}`}>
        An id is given out once and stays resolvable for ever. Records of another registry may have this one.
      </Empty>
    )
  return (
    <Loaded read={read} of={`The schema ${id}`} rows={10}>
      {found => (
        <>
          <UsedBy of={found} />
          <RefersTo of={found} />
          <SchemaText of={found} label={`Schema ${found.id}`} />
        </>
      )}
    </Loaded>
  )
}

function UsedBy({ of: { id, type, usedBy } }: { readonly of: Found }) {
  return (
    <Section title={`Schema ${id}, ${TYPE_NAMES[type]}`}>
      {usedBy.length === 0 ? (
        <p className="text-muted">No subject has it any more. Records that name it can still be read.</p>
      ) : (
        <ul>
          {usedBy.map(({ subject, version, deleted }) => (
            <li key={`${subject} ${version}`} className="flex min-h-6 flex-wrap items-center gap-2">
              <SubjectLink subject={subject} version={version} />
              {deleted && <DeletedMark />}
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

function RefersTo({ of: { references } }: { readonly of: Found }) {
  if (references.length === 0) return null
  return (
    <Section title="It refers to">
      <ul>
        {references.map(({ name, subject, version }) => (
          <li key={name} className="flex min-h-6 flex-wrap items-center gap-x-2">
            <code className="font-mono text-dense wrap-anywhere">
              <VisibleText text={name} />
            </code>
            <SubjectLink subject={subject} version={version} />
          </li>
        ))}
      </ul>
    </Section>
  )
}
