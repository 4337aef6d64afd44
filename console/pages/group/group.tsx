// The page Group.

import { PageHead } from '../../parts/page.tsx'

export function Group() {
  return <PageHead title="Group" />
}
