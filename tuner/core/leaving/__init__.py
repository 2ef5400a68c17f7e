"""What is written last, so that a server without a daemon is safe for hours.

At SIGTERM, with ``daemon.on_stop = "park"``, in this order:

1. The command ``stop`` makes a park owed (``park.stop``).
2. In the same tick C and M are parked (``park.park``) at the pair that is kept ready for it
   (``park.parked``), where those in force are our own and no hold bars it or parked them before.
3. Where the low-water mark is ours a tick more puts the operator's back (``park.once_more``,
   ``lowwater.due``); where that may not be, ``lowwater.see_end`` says so.

With ``"leave"`` nothing is written. A stop that could not do all of this is not one in order, and
``innobrim park --if-crashed`` does it from outside (``tuner/without_daemon.py``). A pause, a park and
advisory mode do 2 and 3 as well, and a hold does 2. A restore puts the mark back first, then C and M in steps
(``restore.restore``).
"""
