/** Texts of the dashboard. English is loaded with the program, other languages when they are wanted; all are in `messages/`. */
import { createInstance } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { en, type Messages } from '../messages/en/index.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'common';
    resources: Messages;
  }
}

/** Languages of the dashboard by code, with their own names. */
export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

const loaders: Record<Exclude<Language, 'en'>, () => Promise<Messages>> = {
  de: async () => (await import('../messages/de/index.ts')).de,
};

export const i18n = createInstance();
void i18n.use(initReactI18next).init({
  lng: 'en',
  fallbackLng: 'en',
  resources: { en },
  defaultNS: 'common',
  // React escapes.
  interpolation: { escapeValue: false },
  returnNull: false,
});

const isLanguage = (code: string): code is Language => Object.hasOwn(languages, code);

const storageKey = 'portico:language';

/** The language of the account that was last used in this browser, otherwise the first one of the browser that there is. */
export function firstLanguage(): Language {
  const kept = localStorage.getItem(storageKey) ?? '';
  return [kept, ...navigator.languages.map((code) => code.slice(0, 2))].find(isLanguage) ?? 'en';
}

/** Shows all texts in another language. One there are no texts for, which only the API sets, changes nothing. */
export async function setLanguage(code: string): Promise<void> {
  if (!isLanguage(code)) return;
  localStorage.setItem(storageKey, code);
  if (code !== 'en' && !i18n.hasResourceBundle(code, 'common')) {
    const messages = await loaders[code]();
    for (const [namespace, texts] of Object.entries(messages)) i18n.addResourceBundle(code, namespace, texts);
  }
  document.documentElement.lang = code;
  await i18n.changeLanguage(code);
}
