// The page Topic.

import { PageHead } from '../../parts/page.tsx'

export function Topic() {
  return <PageHead title="Topic" />
}
