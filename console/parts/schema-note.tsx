// The schema that a key or a value names: its subject and version, its id, its type, and for Protobuf the message.

import type { ShownValue } from '../../src/api/messages.ts'
import { PageLink } from '../shell/address.tsx'
import { VisibleText } from './visible-text.tsx'

interface SchemaNoteProps {
  readonly schema: NonNullable<ShownValue['schema']>
}

export function SchemaNote({ schema: { id, guid, subject, version, type, message } }: SchemaNoteProps) {
  const facts = [id === undefined ? `GUID ${guid}` : `id ${id}`, type, message].filter(each => each !== undefined)
  return (
    <span className="text-muted" data-schema={id ?? guid}>
      {subject == null || version == null ? (
        // Of a schema that no subject has any more, the page of ids has the text.
        type !== undefined && id !== undefined ? (
          <>
            <PageLink page="schemas" search={{ tab: 'ids', id }}>
              schema {id}
            </PageLink>
            {' · '}
          </>
        ) : (
          'schema '
        )
      ) : (
        <>
          <PageLink page="subject" params={{ subject }} search={{ version }}>
            <VisibleText text={subject} /> v{version}
          </PageLink>
          {' · '}
        </>
      )}
      <VisibleText text={facts.join(' · ')} />
    </span>
  )
}
