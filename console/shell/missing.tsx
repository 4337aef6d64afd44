// The page for an address that is none of the console's, reached inside of it.

import { PageHead } from '../parts/page.tsx'
import { Empty } from '../parts/states.tsx'
import { PageLink } from './address.tsx'

export function Missing() {
  return (
    <>
      <PageHead title="No such page" />
      <Empty
        title="The console has no page at this address."
        action={<PageLink page="overview">Go to the overview</PageLink>}
      />
    </>
  )
}
