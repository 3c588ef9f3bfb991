/**
 * What a person has chosen for the dashboard. The account keeps it; language and theme are kept in the browser too, so that the first paint
 * has them before it is known who is signed in.
 */
import { type MantineColorScheme, useMantineColorScheme } from '@mantine/core';
import { useCallback, useState } from 'react';
import { type Theme, UpdatePreferences, type UpdatePreferencesMutationVariables } from '../documents.ts';
import { type Outcome, send } from './command.ts';
import { setLanguage } from './i18n.ts';
import { useViewer } from './viewer.tsx';

type Change = UpdatePreferencesMutationVariables['input'];

export const schemeOf = (theme: Theme): MantineColorScheme => (theme === 'system' ? 'auto' : theme);

/** Puts a choice into effect at once, and keeps it in the account. */
export function useSavePreferences(): (change: Change) => Promise<Outcome<unknown>> {
  const { setColorScheme } = useMantineColorScheme();
  return useCallback(
    (change) => {
      if (change.theme) setColorScheme(schemeOf(change.theme));
      if (change.language) void setLanguage(change.language);
      return send(UpdatePreferences, { input: change });
    },
    [setColorScheme],
  );
}

const bodyModes = ['page', 'visual', 'source', 'split'] as const;
type BodyMode = (typeof bodyModes)[number];

interface EditorPreferences {
  single_keys?: boolean;
  keys?: KeySet;
  /** How the text of entries is shown. */
  body?: BodyMode;
}

export const keySets = ['plain', 'vim'] as const;
export type KeySet = (typeof keySets)[number];

const useEditorPreferences = () => useViewer().me?.preferences?.editor as EditorPreferences | null | undefined;

/** Whether shortcuts of a single key are on, which they are unless they were switched off (WCAG 2.2, 2.1.4). */
export function useSingleKeys(): boolean {
  return useEditorPreferences()?.single_keys !== false;
}

/** The keys with which text and files are edited as source. */
export function useKeySet(): KeySet {
  return useEditorPreferences()?.keys === 'vim' ? 'vim' : 'plain';
}

/** How the text of entries is shown, as it was chosen last. */
export function useBodyMode(): [BodyMode, (mode: BodyMode) => void] {
  const editor = useEditorPreferences();
  const save = useSavePreferences();
  const [mode, setMode] = useState(bodyModes.find((one) => one === editor?.body) ?? 'source');
  const choose = (next: BodyMode) => {
    setMode(next);
    void save({ editor: { ...editor, body: next } });
  };
  return [mode, choose];
}
