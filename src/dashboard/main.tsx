import '@mantine/core/styles.css';
import './styles.css';
import { MantineProvider } from '@mantine/core';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider } from 'urql';
import { client } from './lib/client.ts';
import { firstLanguage, setLanguage } from './lib/i18n.ts';
import { nonce } from './lib/nonce.ts';
import { router } from './routes.tsx';
import { resolveVariables, theme } from './theme.ts';

/** Trusted Types (W3C): libraries may set the text of a style element, and nothing that could be markup. */
interface TrustedTypePolicies {
  createPolicy: (name: string, rules: { createHTML: (text: string) => string | null }) => void;
}
const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypePolicies };
trustedTypes?.createPolicy('default', { createHTML: (text) => (text.includes('<') ? null : text) });

const root = document.getElementById('root');
if (!root) throw new Error('The page has no place for the dashboard');
// Texts are not to change their language after they are shown.
await setLanguage(firstLanguage());
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <Provider value={client}>
        <RouterProvider router={router} />
      </Provider>
    </MantineProvider>
  </StrictMode>,
);
