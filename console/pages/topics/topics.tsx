// The page Topics.

import { PageHead } from '../../parts/page.tsx'

export function Topics() {
  return <PageHead title="Topics" />
}
