import { Button } from '@mantine/core';
import { IconExternalLink } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';

interface OpenButtonProps {
  /** What is opened. */
  name: string;
  /** Gets its address, which may open once only; null: there is nothing to see. */
  find: () => Promise<string | null>;
}

/** Opens what was deployed in another tab. */
export function OpenButton({ name, find }: OpenButtonProps) {
  const { t } = useTranslation('site');
  const open = async () => {
    // Opened at the click, since a window that comes later is blocked; the address is known after that.
    const tab = window.open('', '_blank');
    const url = await find();
    if (tab && url) tab.location.href = url;
    else tab?.close();
  };
  return (
    <Button
      variant="default"
      leftSection={<IconExternalLink size={16} />}
      onClick={() => void open()}
      aria-label={t('open_of', { name })}
    >
      {t('open')}
    </Button>
  );
}
