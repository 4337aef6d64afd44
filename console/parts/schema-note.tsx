// The schema that a key or a value names: its subject and version, its id, its type, and for Protobuf the message.

import type { ReactNode } from 'react'
import type { ShownValue } from '../../src/api/messages.ts'
import { PageLink } from '../shell/address.tsx'
import { TYPE_NAMES } from '../text/schema-formats.ts'
import { VisibleText } from './visible-text.tsx'

interface SchemaNoteProps {
  readonly schema: NonNullable<ShownValue['schema']>
}

/** The links stand in a line of text, where color alone does not tell them apart. */
const LINK = 'text-accent underline underline-offset-2'

export function SchemaNote({ schema: { id, guid, subject, version, type, message } }: SchemaNoteProps) {
  const facts = [type && TYPE_NAMES[type], message].filter(each => each !== undefined)
  return (
    <span className="text-muted" data-schema={id ?? guid}>
      {subject == null || version == null ? (
        'schema '
      ) : (
        <>
          <PageLink page="subject" params={{ subject }} search={{ version }} className={LINK}>
            <VisibleText text={subject} /> v{version}
          </PageLink>
          {' · '}
        </>
      )}
      {id === undefined ? `GUID ${guid}` : <IdLink id={id}>id {id}</IdLink>}
      {facts.length > 0 && <VisibleText text={` · ${facts.join(' · ')}`} />}
    </span>
  )
}

/** The page of ids has the text of every schema, also of one that no subject has any more. */
function IdLink({ id, children }: { readonly id: number; readonly children: ReactNode }) {
  return (
    <PageLink page="schemas" search={{ tab: 'ids', id }} className={LINK}>
      {children}
    </PageLink>
  )
}
