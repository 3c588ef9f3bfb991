import { CloseButton, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';

/** Milliseconds without a key after which is searched. */
const pause = 200;

interface SearchFieldProps {
  label: string;
  /** What is searched for now. */
  value: string;
  onSearch: (words: string) => void;
}

/** Searches as one types; never while an input method composes. */
export function SearchField({ label, value, onSearch }: SearchFieldProps) {
  const { t } = useTranslation('common');
  const [text, setText] = useState(value);
  const [isComposing, setComposing] = useState(false);
  const [shown, setShown] = useState(value);
  // Another address, such as that of the page before.
  if (shown !== value) {
    setShown(value);
    if (text.trim() !== value) setText(value);
  }
  const search = useEffectEvent(() => {
    if (text.trim() !== value) onSearch(text.trim());
  });
  useEffect(() => {
    if (isComposing) return;
    const timer = setTimeout(search, text === '' ? 0 : pause);
    return () => clearTimeout(timer);
  }, [text, isComposing]);
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      maxLength={500}
      onChange={(event) => setText(event.currentTarget.value)}
      onCompositionStart={() => setComposing(true)}
      onCompositionEnd={() => setComposing(false)}
      leftSection={<IconSearch size={16} />}
      rightSection={text !== '' && <CloseButton size="sm" aria-label={t('clear_search')} onClick={() => setText('')} />}
      autoComplete="off"
      spellCheck={false}
      miw={0}
      flex="1 1 120px"
      maw={360}
    />
  );
}
