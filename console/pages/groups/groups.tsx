// The page Groups.

import { PageHead } from '../../parts/page.tsx'

export function Groups() {
  return <PageHead title="Groups" />
}
