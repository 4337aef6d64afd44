// Starts the console in the page.

import './style/base.css'
import { createRoot } from 'react-dom/client'

createRoot(document.getElementById('console')!).render(<h1 className="text-page">Ketch</h1>)
