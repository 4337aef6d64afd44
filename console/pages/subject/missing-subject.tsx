// The page of a subject that does not exist: it never did, or somebody has removed it.

import { buttonClass } from '../../parts/button.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'

export function MissingSubject({ subject }: { readonly subject: string }) {
  return (
    <>
      <PageHead title={subject} heading={<VisibleText text={subject} />} documentTitle={`${subject} · Subject`} />
      <Empty
        title="There is no subject of this name"
        action={
          <PageLink page="schemas" className={buttonClass('plain')}>
            Show all subjects
          </PageLink>
        }
      >
        The schema registry has no subject “<VisibleText text={subject} />
        ”. It may have been removed, or the address has another spelling: upper and lower case differ.
      </Empty>
    </>
  )
}
