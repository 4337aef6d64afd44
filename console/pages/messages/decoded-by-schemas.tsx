// The sentence that says why the page decodes with the schema registry although the user did not choose it.

import type { PartSchema, SchemaParts } from '../../parts/schema-parts.ts'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import type { MessageSearch } from './selection.ts'

interface DecodedBySchemasProps {
  /** The decodings that the address names. */
  readonly chosen: Pick<MessageSearch, 'decode' | 'keyDecode'>
  readonly schemas: SchemaParts
}

export function DecodedBySchemas({ chosen, schemas: { key, value } }: DecodedBySchemasProps) {
  const isOfValues = chosen.decode === '' && value !== null
  const isOfKeys = chosen.decode === '' && chosen.keyDecode === '' && key !== null
  if (!isOfValues && !isOfKeys) return null
  return (
    <p className="mb-2 text-muted">
      {isOfValues && (
        <>
          Values are decoded with <Source of={value} />
        </>
      )}
      {isOfValues && isOfKeys && ', and keys with '}
      {!isOfValues && 'Keys are decoded with '}
      {isOfKeys && <Source of={key} />}.
    </p>
  )
}

function Source({ of: { subject } }: { readonly of: PartSchema }) {
  return subject === null ? (
    'the schemas that they name'
  ) : (
    <>
      the schemas of {/* The link of the pages of schemas would load their code too. */}
      <PageLink page="subject" params={{ subject }} className="text-accent wrap-anywhere underline underline-offset-2">
        <VisibleText text={subject} />
      </PageLink>
    </>
  )
}
