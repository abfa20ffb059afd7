"""Right questions, negatives and verb groups that look like the wrong ones."""

from __future__ import annotations

HARD_CLEAN: tuple[str, ...] = tuple(
    line
    for line in """
You like it?
You know him?
You coming?
He said what?
She went where?
How come you are late?
How come he didn't call?
How come you never told me?
Who came?
What happened?
Who told you that?
Which team won?
How many people came to the party?
What makes you think so?
Who knows where he is?
Whose dog bit you?
What you need is a rest.
What he said was true.
Where he lives is a secret.
Why she left is still a mystery.
How they did it, nobody knows.
I know what you want.
I know why he left.
I know where she is going.
Tell me where he is.
Tell me what you are doing.
I wonder where they are.
I wonder what she wants.
I don't know who he is.
I don't know when they will arrive.
I have no idea what time it is.
Do you know where he lives?
Do you know what this is?
Can you tell me where the station is?
Could you tell me how old you are?
What do you think he wants?
Where do you think she is?
Where did you say they were going?
How tall you are!
How well she sings!
What good singers they are!
What a fool he is!
How kind you are to help me!
What you see is what you get.
Why we fight
What you need to know
How they won
Where we are going
When you are ready?
If you are tired, why not go to bed?
Why not?
Why bother?
I hope not.
I suggest he not go.
They asked that she not come.
Better not wait.
I'd rather not say.
We had better not stay.
Not knowing what to do, he left.
He came not to help but to watch.
You need not come.
She need not have waited.
He dare not say it.
No dogs allowed.
No parking.
This knife is used to cut bread.
It is used to make cheese.
He is used to smoking outside.
He used to smoke.
She got used to living alone.
He stopped to smoke.
He stopped smoking.
I remembered to lock the door.
I remember locking the door.
They saw him cross the street.
They saw him crossing the street.
He was seen to enter the house.
She was made to wait.
They were allowed to leave.
She helped him to move.
She helped him move.
All he did was complain.
All you have to do is ask.
The house needs painting.
I had my car repaired.
He had his hair cut.
I'm like you.
He's like his father.
He's gone.
She's done.
I'm done.
I'm finished.
He's married.
They're closed.
We're open.
You're mean.
He's hurt.
It's broken.
I'm set.
He's cut his finger.
She's put it away.
It's read by thousands.
I'd put it away.
They'd let him in.
He'd hit the ball.
I'd come if I could.
The more you read, the more you know.
The man standing there is my uncle.
Birds singing in the trees woke me.
With him complaining all day, we got nothing done.
I found her sleeping.
We kept him waiting.
They left the door open.
I consider him a friend.
They made him captain.
I found the book easy.
He died a rich man.
She considers him very clever.
We think him honest.
It makes me happy.
He looks tired.
She seems a nice girl.
You idiot!
You poor thing!
You two are late.
We students work hard.
He himself did it.
Not only did he come, he stayed.
Never have I seen such a thing.
So do I.
So does she.
Neither did they.
Neither do we.
Nor does he.
Here he comes.
There they are.
Yes, I do.
No, she doesn't.
Yes, he has.
No, they weren't.
You know her, don't you?
She didn't call, did she?
Let's go, shall we?
He does know.
I do like it.
They did try.
She did come, after all.
Do come in.
To be honest, I forgot.
I look forward to it.
It comes to ten dollars.
He objected to the plan.
I want to.
He was glad to help.
I have yet to see it.
He is to leave tomorrow.
She is about to leave.
The best thing is to wait.
I went there to work.
I went to work.
He prefers to walk.
He prefers walking.
It began raining.
It began to rain.
I tried calling him.
I tried to call him.
She likes to swim.
She likes swimming.
I can't bear to watch.
""".strip().splitlines()
)
