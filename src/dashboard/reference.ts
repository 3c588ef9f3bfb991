/** The page at `/reference`: Scalar for the server's own description of its REST interface. Nothing of it leaves for another server. */
import '@scalar/api-reference/style.css';
import './tools.css';
import { createApiReference } from '@scalar/api-reference';

createApiReference('#root', {
  url: '/api/v2/openapi.json',
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
});
