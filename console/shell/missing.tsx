// The page for an address that the console does not have. The broker answers such an address itself, so that only a
// link inside of the console leads here.

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
