// The page Overview.

import { PageHead } from '../../parts/page.tsx'

export function Overview() {
  return <PageHead title="Overview" />
}
